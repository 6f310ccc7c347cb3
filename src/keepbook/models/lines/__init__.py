"""From what a person said to a line that is kept, and what two lines have to do with each other."""
