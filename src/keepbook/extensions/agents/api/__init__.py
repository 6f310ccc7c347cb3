"""The paths of agents: `agents` and their runs, and how `decisions` turn out."""
