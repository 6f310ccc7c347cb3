"""Ids: eight letters and digits, random, stable for as long as the thing they name."""

import secrets
import string

ALPHABET = string.ascii_letters + string.digits
ID_LENGTH = 8  # characters


def new_id() -> str:
    """A random id. The primary key refuses a repeated one, which would take a trillion memories to happen."""
    number, letters = secrets.randbelow(len(ALPHABET) ** ID_LENGTH), []
    for _ in range(ID_LENGTH):
        number, place = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[place])
    return "".join(letters)
