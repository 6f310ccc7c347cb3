"""Closing a chat: what its person said becomes memory, once. `prompt` is what a language model is told for it."""
