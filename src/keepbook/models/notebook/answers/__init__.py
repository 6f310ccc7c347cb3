"""What answers an open question of the notebook: closed lists of whole turns, and free words that mean one choice."""
