"""Trading: skills, deployments and their trades, prices and events, what they came to, and what they teach.

What comes in is in `files` and `freqtrade`; `findings` become lessons in `reflection`.
"""
