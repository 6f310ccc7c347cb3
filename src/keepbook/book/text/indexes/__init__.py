"""Which line and which turn says which word."""
