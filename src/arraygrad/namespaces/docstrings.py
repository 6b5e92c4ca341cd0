"""What the docstrings of public functions and of Tensor's members say beyond their first paragraph: docstrings.txt.

Imports nothing of arraygrad. `arraygrad.tools.generate` writes the text out of the table: results, gradients, and
examples that were run. It is data: nothing in it is executed.
"""

import inspect
import sys
from pathlib import Path

__all__ = ["documented"]


def _read():
    if sys.flags.optimize >= 2:  # python -OO leaves docstrings out
        return {}
    try:
        text = Path(__file__).with_name("docstrings.txt").read_text(encoding="utf-8")
    except OSError:  # a copy without its data: the first paragraph is there all the same
        return {}
    return dict([part.split("\n", 1) for part in text[3:].split("\n== ")]) if text else {}


_MORE = _read()


def documented(name, first):
    """The docstring: its first paragraph, then what stands in the file under `name`."""
    more = _MORE.get(name)
    return f"{inspect.cleandoc(first)}\n\n{more}" if more else first
