"""The offline model: no key, no network, and it says what it is.

It reads chats with the learned reader and quotes what is kept; in a chat it is the notebook (`models/notebook/`). Where
an answer must have a form, the extension that asks for it gives the rules.
"""
