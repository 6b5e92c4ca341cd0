"""What the docstrings of public functions and of Tensor's members say beyond their first paragraph: docstrings.txt.

Imports nothing of arraygrad. `arraygrad.tools.generate` writes the text out of the table: results, gradients, and
examples that were run. It is data: nothing in it is executed.
"""

import inspect
import os.path
import sys

__all__ = ["documented"]


def _read():
    if sys.flags.optimize >= 2:  # python -OO leaves docstrings out
        return {}
    try:
        # pathlib would take 3 ms of the import.
        with open(os.path.join(os.path.dirname(__file__), "docstrings.txt"), encoding="utf-8") as file:
            text = file.read()
    except OSError:  # a copy without its data: the first paragraph is there all the same
        return {}
    return dict([part.split("\n", 1) for part in text[3:].split("\n== ")]) if text else {}


_MORE = _read()


def documented(name, first):
    """The docstring: its first paragraph, then what stands in the file under `name`."""
    more = _MORE.get(name)
    if not more:
        return first
    if "\n" in first:
        first = inspect.cleandoc(first)
    return f"{first}\n\n{more}"
