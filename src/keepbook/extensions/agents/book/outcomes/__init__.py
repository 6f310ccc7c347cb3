"""What the end of a decision is worth: which score it counts in, and what bars can tell of it."""
