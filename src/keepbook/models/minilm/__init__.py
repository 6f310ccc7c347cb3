"""MiniLM-L6, the base of both the embedder and the reader, computed in integers by a graph of our own."""
