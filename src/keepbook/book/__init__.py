"""The core: what is kept, and the rules of keeping it. No web, no model, no network.

`book` is the public face and thin; each room below it holds one subject.
"""
