"""Analysis of text: its words, their indexes, the times it names, and the secrets it must not hold."""
