"""Stored chats: threads of turns, the notes taken from them, and what a page shows beside them."""
