"""Owners: who they are, what they have chosen, their keys, what they may keep and what they spend."""
