"""edit_cupy.py INIT: makes CuPy's installed `__init__.py` import the host device first and its replacements last.

So does that of cupyx, beside it, which a program may import before CuPy.
"""

import os
import sys

MARK = "  # host_cuda\n"


def edit(path: str) -> None:
    package = os.path.basename(os.path.dirname(path))
    with open(path) as file:
        lines = [line for line in file if not line.endswith(MARK)]
    at = max((i for i, line in enumerate(lines) if line.startswith("from __future__")), default=-1) + 1
    lines[at:at] = [
        "import host_cuda.before as _host_cuda_before" + MARK,
        f'_host_cuda_before.begun.add("{package}")' + MARK,
    ]
    if lines[-1].strip():
        lines[-1] = lines[-1].rstrip("\n") + "\n"
    last = [
        "import host_cuda.after as _host_cuda_after" + MARK,
        f'_host_cuda_after.imported("{package}")' + MARK,
    ]
    with open(path, "w") as file:
        file.writelines([*lines, *last])


init = os.path.abspath(sys.argv[1])
edit(init)
edit(os.path.join(os.path.dirname(os.path.dirname(init)), "cupyx", "__init__.py"))
