"""What the notebook says: what a turn did and what it asked, answers from recall, figures of trading. `compose` puts a
reply together."""
