"""The command line as a program that says, when it ends, which threads of its own are still alive."""

import atexit
import sys
import threading


def tell() -> None:
    alive = sorted(each.name for each in threading.enumerate() if each is not threading.main_thread())
    print("alive:", alive, file=sys.stderr)  # noqa: T201  a program's answer


if __name__ == "__main__":
    atexit.register(tell)  # what is registered before is heard after
    from keepbook.doors.cli import main  # after that: what it registers is heard before

    sys.exit(main(sys.argv[1:]))
