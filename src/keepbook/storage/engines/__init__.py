"""The engines under a book: SQLite and PostgreSQL, also spread over a cluster. Only `database.py` chooses one."""
