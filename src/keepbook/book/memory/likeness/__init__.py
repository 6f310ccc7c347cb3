"""Two lines compared: which a new one repeats, resembles or contradicts (`similar`), and what saying one again does
(`repeats`)."""
