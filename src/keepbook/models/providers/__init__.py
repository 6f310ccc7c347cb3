"""Models that answer over the network: any OpenAI-compatible endpoint, and Anthropic.

`remote` holds the model in our own terms, `session` is the one place that speaks the provider library's, `failures`
turns whatever goes wrong into one plain sentence. The library takes seconds to load, so it is loaded when a model is
first asked something, and never for a book that works offline.
"""
