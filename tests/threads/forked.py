"""What test scripts say that fork. Imported by the tests beside it; nothing of arraygrad."""

import os

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this platform has no fork")

# A function of a script; put before what else it says.
IN_CHILD = """
import os, sys, time


def in_child(function):
    '''Run function in a forked child; its exit status must be 0.'''
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    deadline = time.monotonic() + 30
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
            raise SystemExit("the child hangs")
        time.sleep(0.005)
    assert status == 0, f"child: {status}"
"""
