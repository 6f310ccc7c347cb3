"""Trades from brokers' files: a format is recognised, rows become fills, and fills are paired into round trips."""
