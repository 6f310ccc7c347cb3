"""How an export of ours becomes a book again: its writes repeated, at once or in pieces that nobody sees."""
