"""Everything that talks: the values every model speaks (`model`), chats, closing, runs of agents, embedders.

`choose_models` picks by the settings; `offline` is made of rules and always there, `providers` are over the network.
"""
