"""Subinterpreters: arraygrad is refused there with a reason, whoever imports it first, and the process goes on.

Every test is a process of its own: what would go wrong is a crash, or a main interpreter that can't import any more.
"""

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip(
    "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters",
    reason="this Python has no subinterpreters",
)

PRELUDE = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

ATTEMPT = '''
import sys
sys.path[:] = {path!r}
try:
    import arraygrad
except ImportError as error:
    text = str(error)
else:
    text = "imported"
assert "arraygrad cannot be imported in a subinterpreter" in text, text
assert "main interpreter" in text
'''.format(path=sys.path)


def attempt(*kind):
    made = interpreters.create(*kind)
    try:
        failed = interpreters.run_string(made, ATTEMPT)
        assert not failed, failed
    finally:
        interpreters.destroy(made)


def works():
    import arraygrad as ag
    x = ag.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.numpy().tolist() == [2.0, 4.0]
"""


def script(body):
    """Run a script after PRELUDE; it must end well and say nothing."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_subinterpreter_is_refused_with_the_reason():
    script("attempt()")


def test_the_main_interpreter_can_import_after_a_subinterpreter_was_refused():
    script("attempt(); works()")


def test_a_subinterpreter_is_refused_after_the_main_interpreter_has_imported():
    script("works(); attempt(); works()")


def test_several_subinterpreters_are_refused_one_after_another():
    script(
        """
        for _ in range(3):
            attempt()
        works()
        """
    )


@pytest.mark.skipif(sys.version_info < (3, 13), reason="kinds of subinterpreters can be chosen since Python 3.13")
def test_a_subinterpreter_that_shares_the_gil_is_refused_too():
    script("attempt('legacy'); works()")
