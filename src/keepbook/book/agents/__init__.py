"""Agents: who they are, their runs, the decisions those end in, and how these turn out. `cards` are their answers."""
