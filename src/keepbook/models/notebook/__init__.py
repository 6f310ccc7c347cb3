"""What a person says without a model: read, decided, done and answered in the person's own words.

`turn` takes a turn as one unit of work; `extract` reads a chat that closes; titles and summaries quote too.
"""
