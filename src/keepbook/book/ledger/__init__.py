"""The ledger: entries and their chain, undo of an entry, and verification of the whole book."""
