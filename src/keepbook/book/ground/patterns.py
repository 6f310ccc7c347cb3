"""The one place where patterns are made, under the name by which the book and what stands above it know it."""

from keepbook.patterns import regex, words_regex

__all__ = ["regex", "words_regex"]
