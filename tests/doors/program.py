"""Runs the code it is given with the words behind it, as `python -c` does. Being a file of the tests it is begun by a
Python that has loaded the house already (see tests/warm_python.py), which saves a second of work each time."""

import sys

exec(compile(sys.argv.pop(1), "<code>", "exec"))
