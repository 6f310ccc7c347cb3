"""Memories: their versions, every change to them, and the block that a prompt is given.

Writes are in `changes`, on the one path of `write_path`; quotations in `quotes`; reads in `memories`, `listing` and the
room `history`; what waits for the person is in `proposals` and `review`.
"""
