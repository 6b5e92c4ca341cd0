"""Small kernels take no more instructions than when they were last counted. Counted by callgrind, so without noise."""

from __future__ import annotations

import json
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = str(Path(__file__).resolve().parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from benchmarks import instructions

from arraygrad.engine.node import is_debug_build


def test_a_kept_ratio_stands_for_every_kernel():
    assert json.loads(instructions.EXPECTED.read_text(encoding="utf-8")).keys() == instructions.KERNELS.keys()


@pytest.mark.timeout(300)
@pytest.mark.skipif(not instructions.available(), reason="valgrind is not installed")
@pytest.mark.skipif(is_debug_build(), reason="what is counted is the release build")
@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="what is counted is the build with a GIL")
@pytest.mark.skipif(sys.gettrace() is not None, reason="line tracing changes what is counted")
@pytest.mark.parametrize("kernel", ["block-1", "logistic-32"])
def test_a_small_kernel_takes_no_more_instructions_than_before(kernel):
    kept = json.loads(instructions.EXPECTED.read_text(encoding="utf-8"))[kernel]
    found = instructions.ratios([kernel])[kernel]
    assert found <= kept * (1 + instructions.TOLERANCE), f"{found:.3f} times hand's instructions, {kept} before"
