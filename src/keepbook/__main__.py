"""`keepbook` and `python -m keepbook`: the command line."""

import gc
import sys


def run() -> int:
    """Run the command on this process's line and answer its exit code."""
    # What is loaded stays: looking for garbage in it while it is loaded, and once more when the process ends, would be
    # a quarter of what a short command costs.
    gc.set_threshold(200_000, 20, 20)
    from keepbook.doors.cli import main  # loaded after that is said

    code = main()
    gc.freeze()
    return code


if __name__ == "__main__":
    sys.exit(run())
