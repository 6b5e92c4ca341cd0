"""A bar for loops that take longer than two seconds, where somebody is looking: a terminal or a notebook.

May import: tqdm, which is optional; without it there is no bar.
"""

import sys

__all__ = ["progress"]

DELAY = 2.0  # seconds before a bar is shown


def progress(total, title, unit="it"):
    """A context manager with `update(n=1)`: a bar of `total` steps (None: not known), shown after two seconds."""
    try:
        from tqdm import tqdm
    except ImportError:
        return _Silent()
    # None lets tqdm ask whether the stream is a terminal. A notebook's is none, but shows the bar.
    disable = False if "ipykernel" in sys.modules else None
    return tqdm(total=total, desc=title, unit=unit, delay=DELAY, disable=disable, leave=False, file=sys.stderr)


class _Silent:
    def __enter__(self):
        return self

    def __exit__(self, *exc):
        pass

    def update(self, n=1):
        """Do nothing."""
