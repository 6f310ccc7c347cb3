"""Closed lists by language: whole-turn answers, explicit orders, and the topics that an order names."""
