"""The offline partner is a notebook: it confirms what it noted, answers from the book, and does what the preset can.

`abilities` are the tools by what the preset says they do; `talk` is one reply in the making; `saving` and `asking` act;
the trading modules answer from trading tools; `reply` puts them together. What it says in each language is data.
"""
