"""Stored text as a model is sent it: without what cannot be seen, inside its part of the prompt."""
