"""Amounts in different currencies: kept apart, or converted by prices that are there."""
