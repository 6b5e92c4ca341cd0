"""Programs that begin alike, each in a process of its own, without starting each one anew.

One process runs the beginning, which imports the stand-in for CuPy, and forks a child for each program. The child ends
as a process does: threads, errors and what it prints are its own.
Imports nothing of arraygrad.
"""

import atexit
import functools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

LIMIT = 100  # seconds until a program counts as hanging

STAND_IN = f"""
import sys
sys.path.insert(0, {os.path.dirname(__file__)!r})
from stand_in import *
import arraygrad as ag
from arraygrad.engine.threads import device_threads
"""

# The programs come as lines of JSON; the answer is a line with the exit status.
FORKS = """
def wait_for_a_program():
    import json, os, warnings
    for line in sys.stdin:
        job = json.loads(line)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside NumPy's own threads
            child = os.fork()
        if child == 0:
            for number in (1, 2):
                os.dup2(os.open(job["files"][number - 1], os.O_WRONLY), number)
            return job["code"]
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    sys.exit()

exec(wait_for_a_program())
"""


@functools.cache
def beginning() -> subprocess.Popen:
    """The process that has run the beginning. It ends with pytest."""
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", STAND_IN + FORKS],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    atexit.register(process.communicate)
    return process


def run_forked(code: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a program in a child of `beginning`."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("out", "errors")]
        for file in files:
            file.touch()
        process = beginning()
        process.stdin.write(json.dumps({"code": code, "files": list(map(str, files))}) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], LIMIT)[0]:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            beginning.cache_clear()
            raise TimeoutError(f"the program runs for more than {LIMIT} seconds")
        answer = process.stdout.readline()
        assert answer, "the beginning failed"
        return (int(answer), *(file.read_text() for file in files))


def run_new(code: str) -> tuple[int, str, str]:
    """The same in a new process, for systems without fork."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", STAND_IN + code], capture_output=True, text=True, timeout=LIMIT
    )
    return done.returncode, done.stdout, done.stderr


def run(code: str) -> list[str]:
    """What a program with the stand-in prints, line by line."""
    status, out, errors = (run_forked if hasattr(os, "fork") else run_new)(textwrap.dedent(code))
    assert status == 0, errors[-3000:]
    return out.splitlines()
