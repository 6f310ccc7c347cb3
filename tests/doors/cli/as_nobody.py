"""The command line as a program of a user who owns nothing: root may write everywhere."""

import os
import sys

from keepbook.doors.cli import main

if __name__ == "__main__":
    main(["verify", "--db", ":memory:"])  # all is loaded first: another user may not be able to read it
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    sys.exit(main(sys.argv[1:]))
