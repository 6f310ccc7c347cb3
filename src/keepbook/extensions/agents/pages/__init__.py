"""Pages of agents: who they are, their runs and cards, and how their decisions turned out."""
