"""Text as such: the words in it, the indexes of them, the times it names, and the secrets it must not hold."""
