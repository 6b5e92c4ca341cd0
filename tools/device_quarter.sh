#!/bin/bash
# device_quarter.sh [SECTION...]: what only a GPU can show, in one call of less than 565 seconds and without a network.
#
# Run it from the root of a checkout on a machine with a GPU. It takes the CuPy that is there, or wheels that were carried
# along in the folder WHEELS (.whl by default; a wheel of arraygrad there saves the build), builds arraygrad if it has to,
# runs the sections of tools/device_quarter.py one after the other, each in a process of its own, and writes what they
# found to OUT/device-quarter.json (benchmarks/history by default) after each section. A section that this device or
# machine has not the means for says "not on this device". Exits with 1 if a section found something wrong.
#
#     tools/device_quarter.sh --prepare FOLDER   # elsewhere, with a network: the wheels, for the Python that PYTHON names
#     tools/host_cuda/run PREFIX tools/device_quarter.sh           # a rehearsal without a GPU
set -u
cd "$(dirname "$0")/.." || exit 2
BEGAN=$(date +%s)
PYTHON=${PYTHON:-python3}
if [ "${1:-}" = --prepare ]; then
  [ $# = 2 ] || { sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2; }
  "$PYTHON" -m pip wheel -q --no-deps -w "$2" . || exit 2
  "$PYTHON" -m pip download -q --no-deps --only-binary=:all: -d "$2" array-api-compat pytest pytest-timeout iniconfig pluggy || exit 2
  "$PYTHON" -m pip download -q --only-binary=:all: -d "$2" "${CUPY:-cupy-cuda13x}" scipy || exit 2
  exit 0
fi
WHEELS=${WHEELS:-.whl}
OUT=${OUT:-benchmarks/history}
mkdir -p "$OUT"
if compgen -G "$WHEELS/*.whl" > /dev/null; then
  SITE=$(mktemp -d)
  for wheel in "$WHEELS"/*.whl; do  # what is there already stays; a wheel for another Python is left out
    name=$(basename "$wheel" | cut -d- -f1 | tr _ -)
    "$PYTHON" -m pip show -q "$name" > /dev/null 2>&1 && continue
    "$PYTHON" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$SITE" "$wheel" || echo "left out: $wheel"
  done
  export PYTHONPATH="$SITE${PYTHONPATH:+:$PYTHONPATH}"
fi
# Without a program's own folder on the path the tree is found only once it is built.
if ! "$PYTHON" -c 'import arraygrad' 2> /dev/null; then
  export PYTHONPATH="$PWD/src${PYTHONPATH:+:$PYTHONPATH}"
  if ! "$PYTHON" -c 'import arraygrad' 2> /dev/null; then
    echo "[$(($(date +%s) - BEGAN)) s] building arraygrad"
    ARRAYGRAD_JOBS=${ARRAYGRAD_JOBS:-$(nproc)} timeout 240 "$PYTHON" setup.py -q build_ext --inplace > "$OUT/device-quarter-build.log" 2>&1 ||
      { tail -20 "$OUT/device-quarter-build.log"; echo "arraygrad was not built"; exit 2; }
  fi
fi
PYTHONUNBUFFERED=1 exec "$PYTHON" tools/device_quarter.py --began "$BEGAN" --out "$OUT/device-quarter.json" "$@"
