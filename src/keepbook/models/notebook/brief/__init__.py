"""A chat in a few of the person's own words: its title and its summary, made of `own_clauses`."""
