"""What people see: one function for each kind of answer, from a value of the book to lines on paper."""
