"""Benchmarks: what Keepbook costs and how well it finds, each against a bar or beside a peer.

One module for each `keepbook bench …`; `crowd` and `empty` are what they are held against.
"""
