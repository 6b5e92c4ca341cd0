"""packaging/repack.py: a wheel in fewer bytes, with all that was in it."""

import hashlib
import importlib.util
import subprocess
import sys
import zipfile

import pytest
from sources import ROOT

PATH = ROOT / "packaging" / "repack.py"
NAME = "thing-1.0-py3-none-any.whl"
METADATA = "thing-1.0.dist-info/"
FILES = {
    "thing/__init__.py": b"ANSWER = 42\n" * 500,
    "thing/empty.py": b"",
    "thing/noise.bin": b"".join(hashlib.sha256(bytes([k])).digest() for k in range(40)),
    METADATA + "METADATA": b"Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
    METADATA + "WHEEL": b"Wheel-Version: 1.0\nGenerator: by-hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    METADATA + "RECORD": b"".join(b"thing/%s,,\n" % name for name in (b"__init__.py", b"empty.py", b"noise.bin"))
    + b"".join(b"thing-1.0.dist-info/%s,,\n" % name for name in (b"METADATA", b"WHEEL", b"RECORD")),
}


@pytest.fixture
def repack():
    if not PATH.exists():
        pytest.skip("packaging/ is not there")
    spec = importlib.util.spec_from_file_location("repack_of_arraygrad", PATH)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / NAME
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as made:
        for number, (name, data) in enumerate(FILES.items()):
            entry = zipfile.ZipInfo(name, (2020, 2, 2, 0, 0, 2 * number))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if number == 0 else 0o100644) << 16
            made.writestr(entry, data)
    return path


def contents(path):
    with zipfile.ZipFile(path) as read:
        assert read.testzip() is None
        return [(e.filename, e.date_time, e.external_attr, e.create_system, read.read(e)) for e in read.infolist()]


@pytest.mark.parametrize("compressor", ["zlib", "zopfli"])
def test_a_wheel_is_smaller_and_holds_the_same(repack, wheel, compressor, monkeypatch):
    if compressor == "zlib":
        monkeypatch.setattr(repack, "zopfli", None)
    elif repack.zopfli is None:
        pytest.skip("zopfli is not installed")
    before, size = contents(wheel), wheel.stat().st_size
    assert repack.repack(wheel) == (size, wheel.stat().st_size)
    assert wheel.stat().st_size < size
    assert contents(wheel) == before
    assert [path.name for path in wheel.parent.iterdir()] == [NAME]
    small = wheel.read_bytes()
    assert repack.repack(wheel) == (len(small), len(small))
    assert wheel.read_bytes() == small


def test_a_damaged_wheel_is_left_alone(repack, wheel):
    data = bytearray(wheel.read_bytes())
    data[data.index(b"thing/noise.bin") + 200] ^= 0xFF
    wheel.write_bytes(data)
    with pytest.raises((zipfile.BadZipFile, repack.zlib.error)):
        repack.repack(wheel)
    assert wheel.read_bytes() == data


def test_the_command_takes_a_folder_and_pip_installs_what_it_made(wheel, tmp_path):
    if not PATH.exists():
        pytest.skip("packaging/ is not there")
    pytest.importorskip("pip", reason="pip is not installed")
    done = subprocess.run([sys.executable, PATH, wheel.parent], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{NAME}: ")
    target = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", target, wheel]
    subprocess.run(command, check=True, capture_output=True)
    assert (target / "thing/noise.bin").read_bytes() == FILES["thing/noise.bin"]
    assert subprocess.run([sys.executable, PATH], capture_output=True, check=False).returncode == 2
