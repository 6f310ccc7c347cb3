"""`keepbook` and `python -m keepbook`: the command line."""

import gc
import sys


def run() -> int:
    """Run the command with the arguments of this process and return its exit code."""
    # Imported modules are never garbage. Collecting while they load, and again at the end, would take a quarter of the
    # time of a short command; so collect rarely from here on, and skip the last collection.
    gc.set_threshold(200_000, 20, 20)
    from keepbook.doors.cli import main  # after the threshold is set

    code = main()
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(run())
