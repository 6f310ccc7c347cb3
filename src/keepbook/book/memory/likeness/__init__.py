"""Compares lines: which memories a new one repeats, resembles or contradicts (`similar`), and what saying a memory
again does (`repeats`)."""
