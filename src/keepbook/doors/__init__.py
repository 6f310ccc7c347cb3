"""The doors. A door translates and decides nothing: it calls the book or a model, and shows the answer.

`auth` tells who is asking; no door touches storage, and only the command line opens another.
"""
