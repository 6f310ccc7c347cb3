"""Pages of talk: the chat, what a reply kept, search in all chats, the journal."""
