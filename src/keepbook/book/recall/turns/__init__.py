"""Turns of chats that answer: how they rank, which are shown, by which passage, what stands beside them, and when."""
