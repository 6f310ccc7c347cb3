"""`keepbook bench scale --tokens`: a made-up history of any length, kept, embedded and asked.

`made_up_history` makes it, `history_scale` keeps it and asks, `opened_history` is what a new process finds.
"""
