"""Transactions: whose one is, what an error inside it does, and how each driver notices one."""
