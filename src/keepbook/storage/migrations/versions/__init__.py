"""One migration for each released schema, its SQL frozen beside it."""
