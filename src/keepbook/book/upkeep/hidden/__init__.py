"""Books that are hidden from everybody while they are restored or erased in pieces."""
