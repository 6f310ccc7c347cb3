"""Recall: from a question to the memories and chats that answer it, by words and by meaning.

`vectors` and `nearest` search by meaning, `backlog` and `background` embed after the writes, `rebuild` rebuilds.
"""
