"""The core: what is stored, and the rules for it. No web, no model, no network.

`book` is the public face and thin; each room below it has one subject.
"""
