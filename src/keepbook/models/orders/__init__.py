"""What a person says is done: orders to the memory, heard in the person's own turn before any model answers.

    hear     which orders a turn holds: withdraw, correct, never, undo            (pure)
    decide   what they mean, among what this chat has noted and the book says     (pure)
    carry    the book changed accordingly, as the person, with the turn           (a transaction)

What was decided is stored with the turn (`Message.parts`), so closing, pencil and the next turn heed it and nothing
happens twice.
"""
