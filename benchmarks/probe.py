"""One probe in this process: `python -m benchmarks.probe PROBE LIBRARY [--quick] [--cpu]` prints its result as JSON.

May import: environment, mechanics.
"""

from __future__ import annotations

import json
import sys

from . import environment


def main(arguments: list[str]) -> int:
    environment.pin_threads()
    from .mechanics import PROBES

    name, library = arguments[:2]
    print(json.dumps(PROBES[name](library, "--quick" in arguments, "cpu" if "--cpu" in arguments else "wall")))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
