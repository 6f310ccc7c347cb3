"""The same book on a server: what each method asks of it, and how an answer becomes a value again.

Each operation is written once, as steps that yield a request and receive its answer; a connection runs them, blocking
or awaiting.
"""
