"""What the docstrings of public functions and of Tensor's members say beyond their first paragraph.

Imports nothing of arraygrad. `arraygrad.tools.generate` writes the texts out of the table: results, gradients, and
examples that were run. They are data: nothing in them is executed. Those of functions, namespaces/docstrings.txt, are
read when the first function is made; those of Tensor and of what makes one, numpy_api/docstrings.txt, at import.
"""

import functools
import inspect
import os.path
import sys

__all__ = ["documented"]

_PACKAGE = os.path.dirname(os.path.dirname(__file__))


@functools.cache
def _read(room):
    if sys.flags.optimize >= 2:  # python -OO leaves docstrings out
        return {}
    try:
        # pathlib would take 3 ms of the import.
        with open(os.path.join(_PACKAGE, room, "docstrings.txt"), encoding="utf-8") as file:
            text = file.read()
    except OSError:  # a copy without its data: the first paragraph is there all the same
        return {}
    return dict([part.split("\n", 1) for part in text[3:].split("\n== ")]) if text else {}


def documented(name, first, room="namespaces"):
    """The docstring: its first paragraph, then what stands under `name` in the file of a folder of the package."""
    more = _read(room).get(name)
    if not more:
        return first
    if "\n" in first:
        first = inspect.cleandoc(first)
    return f"{first}\n\n{more}"
