"""edit_cupy.py INIT: makes CuPy's installed `__init__.py` import the host device first and its replacements last."""

import sys

FIRST, LAST = (
    "import host_cuda.before as _host_cuda_before  # host_cuda\n",
    "import host_cuda.after as _host_cuda_after  # host_cuda\n",
)

with open(sys.argv[1]) as file:
    lines = [line for line in file if line not in (FIRST, LAST)]
at = max((i for i, line in enumerate(lines) if line.startswith("from __future__")), default=-1) + 1
lines[at:at] = [FIRST]
if lines[-1].strip():
    lines[-1] = lines[-1].rstrip("\n") + "\n"
with open(sys.argv[1], "w") as file:
    file.writelines([*lines, LAST])
