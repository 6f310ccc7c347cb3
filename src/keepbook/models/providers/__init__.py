"""Models that answer over the network: any OpenAI-compatible endpoint, and Anthropic.

`remote` is the model in our own types, `session` is the only module that uses the provider library, `failures` turns
any error into one plain sentence. The library takes seconds to load, so it is loaded when a model is first asked
something, and never for a book that works offline.
"""
