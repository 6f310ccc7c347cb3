"""The ledger: entries and their chain, taking one back, and holding the book against all of them."""
