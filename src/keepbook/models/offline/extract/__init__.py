"""Reading a chat by rules: from turns to clauses, from clauses to facts, held against what the book knows."""
