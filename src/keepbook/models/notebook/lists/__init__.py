"""Closed lists by language: whole-turn answers, explicit orders, the topics that an order names, whom a text names."""
