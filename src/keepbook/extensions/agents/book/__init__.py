"""Agents: their settings, their runs, the decisions of these, and how decisions turn out. `cards` are their answers."""
