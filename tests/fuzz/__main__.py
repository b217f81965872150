"""`python -m tests.fuzz --count 1000000 --seed 1`: the long run, in a process of its own.

Prints one JSON object: what was counted, the defects, and this process' memory on the way.
"""

import argparse
import json
import logging
import sys
import time

from tests.fuzz.generated import Generator
from tests.fuzz.trial import Trial, resident_bytes

_PARTS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    logging.disable()  # each refusal is a line
    trial, generator = Trial(), Generator(given.seed)
    memory, begun = [], time.monotonic()
    for part in range(_PARTS):
        size = given.count // _PARTS
        trial.run(generator.cases(size, first=part * size), weighs=False)
        memory.append(resident_bytes())
    tally = trial.tally
    for case in map(generator.case, tally.grown):
        trial.weigh(case)
    json.dump(
        {
            "counted": {**tally.counted, "grown on purpose": len(tally.grown)},
            "statuses": dict(sorted(tally.statuses.items())),
            "defects": tally.defects,
            "memory": memory,
            "seconds": time.monotonic() - begun,
        },
        sys.stdout,
        indent=1,
    )


if __name__ == "__main__":
    main()
