"""The tools of an agent, each operation defined once.

`memory` holds the operations, `definition` makes a tool of a function, `catalogue` binds both to a preset's
vocabulary and answers calls.
"""
