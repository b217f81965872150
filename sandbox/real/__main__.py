"""`python -m sandbox.real`: whether a real node can run here; if not, one line that says why."""

import os
import sys

from sandbox.real import missing

if __name__ == "__main__":
    sys.exit(missing(os.environ) or 0)
