"""Commands on a book: one module for each kind, with a `register` that names its commands."""
