"""Pages of memories: the list, one memory, its forms, review, time travel, and how a memory is put in words."""
