"""The parts of the offline chat: what people say to a memory, what is meant, and what is done about it.

`phrases` are words as data, a file for each language; `intents` reads a message; `tools` knows the tools of the chat;
`matching` judges which memory is meant; `keeping`, `answering` and `offers` act. `reply` puts them together.
"""
