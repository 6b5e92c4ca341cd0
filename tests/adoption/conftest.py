"""Makes the helpers of the tests of NumPy's functions importable here, and modules that are written for a test."""

import sys
import textwrap
from pathlib import Path

import pytest

import arraygrad as ag

sys.path.insert(0, str(Path(__file__).parents[1] / "numpy_api"))


@pytest.fixture
def program(tmp_path, monkeypatch):
    """program(name=source, ...): writes modules, imports them and returns the last."""
    monkeypatch.syspath_prepend(str(tmp_path))
    made = []

    def write(**sources):
        for name, source in sources.items():
            path = tmp_path / (name.replace("_", "/") + ".py")
            path.parent.mkdir(exist_ok=True)
            path.parent.joinpath("__init__.py").touch()
            path.write_text(textwrap.dedent(source))
            made.append(name.replace("_", "."))
        __import__(made[-1])
        return sys.modules[made[-1]]

    yield write
    ag.adopt.clear()
    for name in made:
        sys.modules.pop(name, None)
