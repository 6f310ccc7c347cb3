"""Files in our own columns on their way in: what became of each row, and what looks like a correction."""
