"""Pages of trading: what they show, the forms on them, and their figures in words."""
