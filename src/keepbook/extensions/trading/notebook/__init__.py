"""Trading in the notebook: questions about it and their answers, by language."""
