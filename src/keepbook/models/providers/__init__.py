"""Models that answer over the network: any OpenAI-compatible endpoint, and Anthropic.

`remote` is such a model in our own types, `session` uses the provider library, and `failures` turns any of its
errors into one plain sentence. The library takes seconds to load, so it is loaded with the first request to a model,
and never for a book that works offline.
"""
