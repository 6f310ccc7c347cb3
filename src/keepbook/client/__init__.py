"""The client for a book on a server: the request of each method, and how an answer becomes a value again.

Each operation is written once, as a generator that yields requests and receives their answers. A connection runs it,
either blocking or awaited.
"""
