"""Closing a chat: what its person said becomes memory, once. `prompt` is the prompt of a language model for it."""
