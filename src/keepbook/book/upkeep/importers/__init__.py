"""Importers for other programs' files: one module for each source, whose format is recognised, one form for what comes
in (`incoming.py`), one module that writes it (`write.py`)."""
