"""`python -m keepbook` is the command line."""

import sys

from keepbook.doors.cli import main

if __name__ == "__main__":
    sys.exit(main())
