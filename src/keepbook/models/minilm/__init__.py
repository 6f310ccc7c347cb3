"""MiniLM-L6, on which both the embedder and the reader stand: computed in whole numbers, by a graph of our own."""
