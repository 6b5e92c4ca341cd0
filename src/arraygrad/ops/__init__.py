"""THE TABLE: every operation, chapter by chapter as in the Array API standard 2025.12.

May import: its own modules and arraygrad.core.op, which compiles the entries. `OPS` maps names to compiled operations,
in the order of the table; `TABLE` maps them to their entries. Begin with `kinds.py`, then `elementwise.py`.
"""

# The order of the chapters is the order of the table, and so of `Op.index`.
from arraygrad.ops import (  # noqa: I001
    elementwise,
    statistical,
    utility,
    manipulation,
    indexing,
    searching,
    sorting,
    set,
    creation,
    data_type,
    linear_algebra,
    linalg,
    fft,
    beyond,
    special,
    internal,
)
from arraygrad.ops.kinds import TABLE, Entry
from arraygrad.core.op import compile_table

CHAPTERS = (
    elementwise,
    statistical,
    utility,
    manipulation,
    indexing,
    searching,
    sorting,
    set,
    creation,
    data_type,
    linear_algebra,
    linalg,
    fft,
    beyond,
    special,
    internal,
)

OPS = compile_table(TABLE)

__all__ = ["CHAPTERS", "OPS", "TABLE", "Entry"]
