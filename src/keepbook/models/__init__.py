"""Everything with a language model: the values every model takes and returns (`model`), chats, closing, agents,
embedders.

`choose_models` picks by the settings; `offline` is made of rules and always there, `providers` are over the network.
"""
