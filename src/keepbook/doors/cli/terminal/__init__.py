"""What every command works with: the line as typed, the opened book, the paper, streams and progress."""
