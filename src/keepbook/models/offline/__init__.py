"""The offline model: no key, no network, honest about what it is.

As extractor it lets the reader judge and words what is kept; as a chat partner it is a notebook; as an agent it follows
rules that it states.
"""
