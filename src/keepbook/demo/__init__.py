"""A book to look at: three months of one person's life with an agent, made anew for every visitor.

`story` lives through it with the engine's own operations, `visitors` gives each visitor a copy of it in memory.
"""
