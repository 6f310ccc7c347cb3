"""Recall: from a question to the memories and chats that answer it, by words and by meaning.

`vectors` and `nearest` hold the meaning, `backlog` and `background` make it behind the writers, `rebuild` anew.
"""
