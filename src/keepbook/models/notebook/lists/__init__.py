"""Closed lists by language: explicit orders, the topics that an order names, whom a text names."""
