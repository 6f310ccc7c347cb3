"""The offline model: no key, no network, and it says what it is.

It reads chats with the learned reader and quotes what is kept; in a chat it is the notebook (`models/notebook/`); as an
agent it follows rules that it states.
"""
