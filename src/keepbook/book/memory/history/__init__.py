"""The book as it was: `as_of` gives it at two instants, `traces` what else is known of its past, `standing`
how much of it is active, counted on from what was written."""
