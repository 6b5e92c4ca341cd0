"""What `import arraygrad` does, and what it leaves to the first use, each in a process of its own."""

import subprocess
import sys
import textwrap

import pytest


def run(code):
    """The words that a script prints; it must end well."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


@pytest.mark.parametrize(
    "name",
    [
        "arraygrad.numpy_api.functions", "arraygrad.autograd.run_trace",
        "arraygrad.autograd.checkpointing", "arraygrad.autograd.custom_function", "arraygrad.implicit",
        "arraygrad.numpy", "arraygrad.autograd.saved_hooks", "arraygrad.testing", "arraygrad.transforms", "dataclasses",
        "arraygrad.autograd.python_numbers", "arraygrad.engine.pool", "arraygrad.namespaces.creation",
        "arraygrad.ops._einsum", "threading", "copy", "__future__",
    ],
)  # fmt: skip
def test_import_leaves_to_its_first_use(name):
    found = run(
        f"import sys, numpy; before = {name!r} in sys.modules; import arraygrad; print({name!r} in sys.modules)"
    )
    if found == ["True"]:
        assert run(f"import sys, numpy; print({name!r} in sys.modules)") == ["True"]  # NumPy's doing


# The modules of Python that an import takes. Each costs some 300 000 instructions before it does anything: add one only
# if operators, everyday functions of NumPy and gradients need it (docs/performance.md, Import).
TAKEN = """
    adoption adoption.setting numpy_api.plainly
    autograd autograd.functions autograd.grad_mode autograd.graph backends backends.numpy backends.numpy.triangular core
    engine engine.later engine.lifecycle engine.modes namespaces namespaces.bind namespaces.dispatch
    namespaces.docstrings namespaces.namespace numpy_api numpy_api.cupy numpy_api.handlers numpy_api.methods
    numpy_api.more_methods numpy_api.overlaps
    ops ops._axes ops._creation ops._diagonals ops._elementwise ops._factorizations ops._helpers
    ops._norms ops._products ops._scans ops._scatter ops._solvers ops._windows ops.beyond ops.creation ops.data_type
    ops.elementwise ops.fft ops.indexing ops.internal ops.kinds ops.linalg ops.linear_algebra ops.manipulation
    ops.searching ops.set ops.sorting ops.special ops.statistical ops.utility _first_use _hints _interpreter
"""


def test_import_takes_no_other_modules_of_the_package():
    found = run(
        """
        import sys
        import arraygrad
        from arraygrad._compiled import NAMES
        print(*[name for name in sys.modules if name.startswith("arraygrad.") and name not in NAMES])
        """
    )
    taken = {f"arraygrad.{name}" for name in TAKEN.split()} | {"arraygrad._compiled"}
    assert (sorted(set(found) - taken), sorted(taken - set(found))) == ([], [])


def test_what_is_left_to_its_first_use_is_there():
    code = """
        import arraygrad as ag, numpy as np
        t = ag.tensor([1.0, 2.0], requires_grad=True)
        assert ag.autograd.graph.GradientEdge._fields == ("node", "output_nr")
        np.add(np.sin(t), 1.0).sum().backward(inputs=[t])
        print(ag.__version__, t.grad is not None, *sorted({"sin", "autograd", "grad", "__version__"} - set(dir(ag))))
    """
    version, graded = run(code)
    assert version[0].isdigit()
    assert graded == "True"


def test_import_of_a_module_behind_autograd_works_at_once():
    assert run("from arraygrad.autograd.graph import Node; print(Node.__name__)") == ["Node"]


def test_threads_that_use_it_first_at_once_agree():
    code = """
        import threading
        import numpy as np
        import arraygrad as ag

        together = threading.Barrier(8)
        results = []

        def work():
            together.wait()
            x = ag.tensor([0.5, 1.5, 2.5], requires_grad=True)
            y = np.sin(x) * ag.exp(x) + x ** 3.0 + ag.softmax(x) + np.linalg.norm(x) + ag.tanh(x) / ag.sqrt(x)
            (grad,) = ag.autograd.grad(y.sum() + y.std() + ag.special.gamma(x).sum(), x)
            results.append(grad.numpy().tolist())

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(len(results), all(result == results[0] for result in results))
    """
    pytest.importorskip("scipy", reason="the gamma function of NumPy arrays is SciPy's")
    assert run(code) == ["8", "True"]


# Chapters that scipy.sparse.linalg loads, which arraygrad's rules for matrices need.
BESIDE = {"sparse": {"linalg"}}


@pytest.mark.parametrize("chapter", ["special", "ndimage", "fft", "spatial", "linalg", "sparse", "optimize"])
def test_the_first_gradient_loads_no_chapter_of_scipy_that_the_program_does_not_load(chapter):
    pytest.importorskip("scipy")
    found = run(
        f"""
        import sys, numpy, scipy.{chapter}
        import arraygrad as ag
        loaded = lambda: {{name.split(".")[1] for name in sys.modules if name.startswith("scipy.")}}
        before = loaded()
        ag.grad(lambda x: (x * x).sum())(numpy.ones(3))
        print(*[name for name in sorted(loaded() - before) if not name.startswith("_")])
        """
    )
    assert set(found) <= BESIDE.get(chapter, set())
