"""Prices and events that everybody shares: as they are now, as they were before they were corrected, and the chain of
batches in which each file brought them."""
