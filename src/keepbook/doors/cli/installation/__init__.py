"""Commands around the books: begin, serve, connect, run jobs, look what is wrong, measure."""
