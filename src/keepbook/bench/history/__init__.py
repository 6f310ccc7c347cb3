"""`keepbook bench scale --tokens`: stores and embeds a made-up history of any length, and measures questions to it.

`made_up_history` makes the history, `history_scale` stores it and asks, `opened_history` measures a new process that
opens it.
"""
