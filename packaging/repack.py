"""`python packaging/repack.py WHEEL_OR_FOLDER ...`: wheels, or all in a folder, packed again in fewer bytes.

A wheel is a zip file, for which tools compress by zlib at its middle level. Zopfli looks longer for the same format, to
4 % less; without the package `zopfli` it is zlib's highest level. Files, their order, dates, permissions and contents
stay, and so do RECORD and the wheel's name. A file is kept as it was where that is no longer.
May import: the standard library, and zopfli.
"""

import sys
import zipfile
import zlib
from pathlib import Path

try:
    import zopfli.zlib
except ImportError:
    zopfli = None


def deflated(data: bytes) -> bytes:
    """The data as zip files have it, without zlib's head and check."""
    return (zopfli.zlib.compress(data, blocksplittingmax=0) if zopfli else zlib.compress(data, 9))[2:-4]


class Deflated:
    """What zipfile asks of a compressor, for data that comes at once."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def compress(self, data: bytes) -> bytes:
        self.parts.append(bytes(data))
        return b""

    def flush(self) -> bytes:
        return deflated(b"".join(self.parts))


def repack(path: Path) -> tuple[int, int]:
    """Packs a wheel again, in its place. Its size before and after. Raises zipfile.BadZipFile if it is damaged."""
    before = path.stat().st_size
    made = path.with_suffix(".repacked")
    with zipfile.ZipFile(path) as old:
        read = [(entry, old.read(entry)) for entry in old.infolist()]
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for entry, data in read:
            copied = zipfile.ZipInfo(entry.filename, entry.date_time)
            copied.compress_type = zipfile.ZIP_DEFLATED if data else zipfile.ZIP_STORED
            copied.create_system = entry.create_system
            copied.external_attr = entry.external_attr
            with new.open(copied, "w") as file:
                if data:
                    file._compressor = Deflated()
                file.write(data)
    after = made.stat().st_size
    if after < before:
        made.replace(path)
    else:
        made.unlink()
    return before, min(before, after)


def main(arguments: list[str]) -> int:
    paths = [
        wheel for path in map(Path, arguments) for wheel in (sorted(path.glob("*.whl")) if path.is_dir() else [path])
    ]
    if not paths:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    for path in paths:
        before, after = repack(path)
        print(f"{path.name}: {before} bytes, now {after}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
