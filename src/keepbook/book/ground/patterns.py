"""The patterns of the book, from `keepbook.patterns`, under the name by which the book and the floors above know it."""

from keepbook.patterns import regex, words_regex

__all__ = ["regex", "words_regex"]
