#!/usr/bin/env bash
# Runs tests on modules built for a checker of memory or threads, in one command:
#
#   tools/sanitize.sh address  [pytest arguments]   AddressSanitizer and UndefinedBehaviorSanitizer, then leaks
#   tools/sanitize.sh thread   [pytest arguments]   ThreadSanitizer
#   tools/sanitize.sh valgrind [pytest arguments]   valgrind's memcheck, then leaks
#
# Without arguments: the suite (address), what starts threads (thread), a short run of everything (valgrind). The
# working tree is copied to build/sanitize/, built there, and left for the next call, which compiles only what changed.
#
# PYTHON=...           the interpreter; default python3. One that has the packages the tests need is used as it is,
#                      for any other an environment is made and the packages are installed.
# SANITIZE_FOLDER=...  where to build instead of build/sanitize
# SANITIZE_LEAKS=0     without the search for leaks; SANITIZE_LEAKS=only: nothing but that
#
# `thread` finds most with a free-threaded Python that is itself built with ThreadSanitizer (tools/free_threaded.sh);
# the modules are then compiled by clang, as that Python is. With an ordinary Python it finds races between sections
# without the GIL. A free-threaded Python without ThreadSanitizer is refused: the locks inside would not be seen.
#
# Exit status 0: all tests passed and nothing was reported. Every report is printed at the end.
set -euo pipefail
main() { # the shell reads all of it before it begins, so that the file may be edited during a run

usage() { sed -n '2,/^set/ { /^#/ s/^# \{0,1\}//p }' "${BASH_SOURCE[0]}"; }
case "${1:-}" in
    address | thread | valgrind) kind=$1; shift ;;
    -h | --help) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
esac

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
python=$(command -v "${PYTHON:-python3}")
identity=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("SOABI") or "python")')
free_threaded=$("$python" -c 'import sysconfig; print(int(bool(sysconfig.get_config_var("Py_GIL_DISABLED"))))')
instrumented=$("$python" -c '
import sysconfig; print(int("-fsanitize=thread" in (sysconfig.get_config_var("PY_CFLAGS") or "")))')
folder=${SANITIZE_FOLDER:-$root/build/sanitize}/$kind-$identity
tree=$folder/tree
mkdir -p "$tree" "$folder/home"

# ---- packages. An instrumented interpreter is far too slow for pip: its packages come from an ordinary one's pip.
needed="import numpy, array_api_compat, array_api_strict, Cython, setuptools, pytest, pytest_timeout, hypothesis"
if ! "$python" -c "$needed" 2>/dev/null; then
    if [ ! -e "$folder/packages/.complete" ]; then
        echo "---- packages"
        "${PIP_PYTHON:-$python}" -m pip install --quiet --only-binary :all: --target "$folder/packages" --upgrade \
            "numpy>=2" "array-api-compat>=1.12" "array-api-strict>=2.3" "Cython>=3.3,<4" "setuptools>=77" \
            "pytest>=8.2" "pytest-timeout>=2.3" "hypothesis>=6.100" "scipy>=1.13"
        touch "$folder/packages/.complete"
    fi
    export PYTHONPATH=$folder/packages
    "$python" -c "$needed"
fi

# ---- the tree and the build
echo "---- build in $tree"
(cd "$root" && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
    if [ -f "$file" ]; then printf '%s\0' "$file"; fi
done | tar -c --null -T -) | tar -x -C "$tree"
unset ARRAYGRAD_DEBUG ARRAYGRAD_TRACE ARRAYGRAD_SANITIZE
case $kind in
    address) export ARRAYGRAD_SANITIZE=address,undefined ;;
    thread) export ARRAYGRAD_SANITIZE=thread ;;
    valgrind) export ARRAYGRAD_DEBUG=1 ;; # line numbers in reports, asserts
esac
if [ "$kind" = thread ] && [ "$free_threaded" = 1 ]; then
    if [ "$instrumented" = 0 ]; then
        echo "$python is free-threaded but not built with ThreadSanitizer (see tools/free_threaded.sh)" >&2
        exit 2
    fi
    clang=${CLANG:-$(command -v clang-19 || command -v clang)}
    export CC=$clang CXX=${clang/clang/clang++} LDSHARED="$clang -shared" LDCXXSHARED="${clang/clang/clang++} -shared"
fi
# BUILD_PYTHON: an ordinary interpreter of the same ABI, which compiles several times faster than an instrumented one.
(cd "$tree" && "${BUILD_PYTHON:-$python}" setup.py build_ext --inplace >"$folder/build.log" 2>&1) ||
    { tail -n 40 "$folder/build.log"; exit 1; }
unset CC CXX LDSHARED LDCXXSHARED

# ---- how the tests run
cd "$tree"
export PYTHONPATH=$tree/src${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1
logs=$folder/logs
rm -rf "$logs"
mkdir -p "$logs"
runner=()
preload=""
library() { local found; found=$(gcc -print-file-name="$1"); [ -e "$found" ] && printf '%s ' "$(realpath "$found")"; }
case $kind in
    address)
        # libstdc++ as well: exceptions are thrown before any module would load it.
        preload="$(library libasan.so)$(library libubsan.so)$(library libstdc++.so)"
        asan=suppressions=$root/tools/asan.supp:allocator_may_return_null=1:exitcode=66:log_path=$logs/address
        export ASAN_OPTIONS=detect_leaks=0:$asan PYTHONMALLOC=malloc
        export UBSAN_OPTIONS=print_stacktrace=1:log_path=$logs/undefined
        export LSAN_OPTIONS=suppressions=$root/tools/lsan.supp:print_suppressions=0
        defaults=(tests)
        ;;
    thread)
        if [ "$instrumented" = 0 ]; then preload=$(library libtsan.so); fi
        tsan=suppressions=$root/tools/tsan.supp:exitcode=66:log_path=$logs/thread:history_size=4
        symbolizer=$(command -v llvm-symbolizer-19 || command -v llvm-symbolizer || true)
        export TSAN_OPTIONS=$tsan${symbolizer:+:external_symbolizer_path=$symbolizer}
        export ARRAYGRAD_TEST_SCALE=10 # the stress tests: fewer rounds, more time
        defaults=(tests/threads tests/engine)
        SANITIZE_LEAKS=0
        ;;
    valgrind)
        export PYTHONMALLOC=malloc
        # Undefined values are not looked for: an optimized CPython reads some on purpose.
        runner=(valgrind --quiet --undef-value-errors=no --error-exitcode=66 --num-callers=30
            "--log-file=$logs/valgrind.%p" "--suppressions=$root/tools/valgrind.supp")
        defaults=(tests/engine/test_engine_execution.py tests/engine/test_engine_errors.py
            tests/engine/test_engine_hooks.py tests/core)
        ;;
esac

reports() { find "$logs" -type f -size +0; }
status=0
if [ "${SANITIZE_LEAKS:-1}" != only ]; then
    echo "---- tests: ${*:-${defaults[*]}}"
    LD_PRELOAD=$preload "${runner[@]}" "$python" -m pytest -q -p no:cacheprovider -p no:faulthandler --timeout 1800 \
        "${@:-${defaults[@]}}" || status=$?
fi
if [ "${SANITIZE_LEAKS:-1}" != 0 ]; then
    # Leaks are looked for after a program of its own: under pytest the search takes minutes and finds pytest's.
    echo "---- leaks: tools/workload.py"
    case $kind in
        address) export ASAN_OPTIONS=detect_leaks=1:fast_unwind_on_malloc=0:$asan ;;
        valgrind)
            runner+=(--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite)
            ;;
    esac
    LD_PRELOAD=$preload "${runner[@]}" "$python" tools/workload.py || status=$?
fi
if [ -n "$(reports)" ]; then
    echo "---- reports"
    reports | while read -r file; do echo "-- $file"; head -n 120 "$file"; done
    [ "$status" != 0 ] || status=66
fi
echo "---- $kind: $(reports | wc -l) processes with reports, exit status $status"
exit "$status"
}
main "$@"
