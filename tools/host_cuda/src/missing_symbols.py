"""missing_symbols.py OUT.cpp OBJECTS -- MODULES: functions for the CUDA symbols that MODULES need and OBJECTS lack.

Each prints its name and returns its library's "not supported".
"""

import re
import subprocess
import sys

NOT_SUPPORTED = {"cublas": 15, "cusolver": 9, "cusparse": 10, "curand": 102, "cufft": 16, "cuda": 801, "cu": 801}
SYMBOL = re.compile(r"\s([A-Za-z]) (cu[a-zA-Z]\w*)")


def symbols(path: str, *flags: str) -> set[str]:
    """The CUDA symbols that nm lists."""
    listing = subprocess.run(["nm", *flags, path], capture_output=True, text=True, check=True).stdout
    return {m[2] for m in map(SYMBOL.search, listing.splitlines()) if m and not m[2].startswith("cupy")}


def main() -> None:
    out, rest = sys.argv[1], sys.argv[2:]
    objects, modules = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
    there = set().union(*(symbols(o, "--defined-only") for o in objects))
    needed = set().union(*(symbols(m, "-D", "--undefined-only") for m in modules))
    with open(out, "w") as file:
        print("#include <cstdio>", file=file)
        for name in sorted(needed - there):
            code = next(c for prefix, c in NOT_SUPPORTED.items() if name.startswith(prefix))
            says = f'fprintf(stderr, "host_cuda: {name} is not there\\n"); return {code};'
            print(f'extern "C" __attribute__((visibility("default"))) int {name}() {{ {says} }}', file=file)
    print(f"{len(needed & there)} of {len(needed)} CUDA functions that CuPy's modules name are there")


if __name__ == "__main__":
    main()
