"""Loggers whose records are one line each, even if a name, a path or an error has line breaks.

A program writes its log with its own handlers, so a filter of the logger makes the one line. So nobody can forge a line
of the log. An error adds one line: where it was raised, and the error as Python would write it.
"""

import logging
import traceback

LONGEST = 1000
"""How many letters of an error are logged."""


def get_logger(name: str) -> logging.Logger:
    """The logger of this name, with records of one line."""
    log = logging.getLogger(name)
    if not any(isinstance(each, OneLineRecords) for each in log.filters):
        log.addFilter(OneLineRecords())
    return log


class OneLineRecords(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = escape_line(record.getMessage()), None
        if record.exc_info and record.exc_info[1] is not None:
            record.exc_text = error_line(record.exc_info[1])
        return True


def error_line(error: BaseException) -> str:
    places = ", ".join(raised_at(error))
    return escape_line(f"Traceback: {places}: {repr(error)[:LONGEST]}")


def raised_at(error: BaseException) -> list[str]:
    """The places an error came through, the last one last."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]


def escape_line(text: str) -> str:
    """The text with everything escaped that a terminal or a reader of lines would not print as it is."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)
