"""The HTTP API: one router for each part of the book, JSON in and out."""
