"""The word indexes: which memory and which turn says which word."""
