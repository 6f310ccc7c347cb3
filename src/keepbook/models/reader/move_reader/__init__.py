"""What a clause does to the book, as two small networks or a linear model have learned it."""
