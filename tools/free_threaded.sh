#!/usr/bin/env bash
# Builds a free-threaded CPython 3.13 from Debian's source package; with "tsan", one that ThreadSanitizer watches.
#
#   tools/free_threaded.sh PREFIX         for the suite without the GIL; 2 minutes on two cores
#   tools/free_threaded.sh PREFIX tsan    for tools/sanitize.sh thread; 4 minutes, needs clang-19, libclang-rt-19-dev
#
# SOURCE=folder builds an unpacked CPython source of any version instead (on systems that are not Debian, or for 3.14).
# The system's package lists are left as they are: apt-get works on lists of its own in a temporary folder.
set -euo pipefail
prefix=${1:?"say where to install it: tools/free_threaded.sh PREFIX [tsan]"}
mode=${2:-plain}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -n "${SOURCE:-}" ]; then
    cp -R "$SOURCE" "$work/source"
else
    mirror=$(sed -n 's/^URIs: //p' /etc/apt/sources.list.d/debian.sources | head -n 1)
    keys=/usr/share/keyrings/debian-archive-keyring.gpg
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/parts"
    echo "deb-src [signed-by=$keys] $mirror trixie main" >"$work/sources.list"
    apt() {
        (cd "$work" && apt-get -q -oDir::State::Lists="$work/lists" -oDir::Etc::sourcelist="$work/sources.list" \
            -oDir::Etc::sourceparts="$work/parts" -oDir::Cache="$work/cache" -oDir::State::status=/dev/null \
            -oAPT::Sandbox::User=root "$@" >/dev/null)
    }
    apt update
    apt --download-only source python3.13
    mkdir "$work/source"
    tar -xf "$work"/python3.13_*.orig.tar.xz -C "$work/source" --strip-components 1
fi

options=(--prefix="$prefix" --disable-gil --with-ensurepip=install --disable-test-modules)
flags="-g0 -O2"
if [ "$mode" = tsan ]; then
    export CC=${CLANG:-clang-19}
    export CXX=${CC/clang/clang++} TSAN_OPTIONS="report_bugs=0 exitcode=0"
    options+=(--with-thread-sanitizer)
    flags="-g1 -O1"
fi
cd "$work/source"
run() { "$@" >"$work/log" 2>&1 || { tail -n 30 "$work/log"; exit 1; }; }
run ./configure "${options[@]}" CFLAGS="$flags"
run make -j"$(nproc)"
run make install
for python in "$prefix"/bin/python3.*t; do
    "$python" -c "import sys; print(sys.executable, sys.version); assert not sys._is_gil_enabled()"
done
