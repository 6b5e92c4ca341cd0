"""Which operations wait for the device, forward and backward, over all samples: those that docs/gpu.md names.

Runs on a device, a GPU or the host device. Imports the public names of arraygrad, ops for the table, and the samples of
tests/ops.
"""

import sys
from pathlib import Path

import pytest
from waiting import waits_counted

import arraygrad as ag
from arraygrad.core.tensor import backend_of
from arraygrad.ops import OPS

sys.path.append(str(Path(__file__).parents[1] / "ops"))
from samples import samples

pytestmark = pytest.mark.gpu

# What waits because the host has to know values: how many elements a mask chooses or are distinct, how often each is
# repeated, where a range ends or a segment begins; whether a matrix is singular; whether a gradient may be asked for.
COUNTED = {
    "repeat",
    "unique_values",
    "unique_counts",
    "unique_inverse",
    "unique_all",
    "_segment_sums",
    "_segment_folds",
}
MASKED = {"_getitem", "_getitem_adjoint", "_setitem", "_add_at"}
FORWARD = COUNTED | MASKED | {"arange", "_cofactor"}
BACKWARD = COUNTED | MASKED | set("det slogdet pinv _cofactor qr svd eigh _eigh_upper eig eigvals".split())


@pytest.mark.parametrize("name", [name for name in OPS if samples(name)])
def test_an_operation_waits_for_the_device_only_if_the_page_says_so(name):
    import cupy

    xp = backend_of(cupy.ones(1)).graph_xp  # the namespace with the table's internal operations
    found, ran = {"forward": 0, "backward": 0}, 0
    with ag.autograd.set_multithreading_enabled(False):
        for case in samples(name):
            inputs = [ag.asarray(cupy.asarray(a), requires_grad=a.dtype.kind in "fc") for a in case.arrays]
            forward = backward = 0
            for _ in range(2):  # the first call may set libraries up
                try:
                    result, forward = counted(lambda case=case, inputs=inputs: case.call(xp, *inputs))
                except (TypeError, cupy.cuda.compiler.CompileException):
                    break  # CuPy has it not, or not for these dtypes (complex digamma: not on the host device)
                ran += 1
                roots = [t for t in flat(result) if t.requires_grad]
                given = [cupy.ones(t.shape, t.dtype) for t in roots]
                wanted = [t for t in inputs if t.requires_grad]
                if roots:
                    try:
                        _, backward = counted(
                            lambda roots=roots, wanted=wanted, given=given: ag.autograd.grad(
                                roots, wanted, given, retain_graph=True, allow_unused=True
                            )
                        )
                    except cupy.cuda.compiler.CompileException:
                        break
            found["forward"] += forward
            found["backward"] += backward
    if not ran:
        pytest.skip(f"CuPy has no {name}")
    assert (found["forward"] > 0, found["backward"] > 0) == (name in FORWARD, name in BACKWARD)


def counted(call):
    """(what a call returns, how often it waited). On a GPU it is called again where the detector stopped it."""
    done = []
    with waits_counted() as waits:
        done.append(call())
    return done[0] if done else call(), waits.count


def flat(result):
    """The Tensors of a result."""
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in flat(part)]
    return [result] if isinstance(result, ag.Tensor) else []
