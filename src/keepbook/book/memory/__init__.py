"""Memories: what they say in which version, every change to them, and the block that a prompt is given.

Writes are in `changes`, on the one path of `write_path`; reads are in `memories`, `listing`, `as_of`, `traces`; what
waits for the person is in `proposals` and `review`.
"""
