"""What other programs kept, on its way into a book: one module for each source that is known by looking at its file,
one shape for what comes in (`incoming.py`), one piece that writes it (`write.py`)."""
