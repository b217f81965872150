"""`python -m sandbox.real`: exit with 0 if a real node can run here, otherwise print why not."""

import os
import sys

from sandbox.real.requirements import missing

if __name__ == "__main__":
    sys.exit(missing(os.environ) or 0)
