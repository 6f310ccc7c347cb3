"""The notebook: reads, carries out and answers a person's turn without a model, in the person's own words.

`turn` takes a turn as one unit of work; `extract` reads a chat that closes; titles and summaries quote too.
"""
