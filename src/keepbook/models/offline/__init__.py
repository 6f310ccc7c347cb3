"""The offline model: no key, no network, and it says what it is.

As extractor it uses the reader and quotes what is kept; as a chat partner it is a notebook; as an agent it follows
rules that it states.
"""
