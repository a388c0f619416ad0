"""`python -m discreet` is the command `discreet`."""

import sys

from discreet.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
