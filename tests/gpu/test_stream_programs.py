"""Random programs on several streams and devices (stress.py): on a device, and on the stand-in, which sees every race.

Imports stress and programs; the public names of arraygrad there.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from programs import run

import arraygrad as ag


@pytest.mark.gpu
@pytest.mark.parametrize("first", range(0, 40, 10))
def test_random_programs_have_the_gradients_of_numpy(first):
    import cupy
    import stress

    wrong = {seed: what for seed in range(first, first + 10) if (what := stress.differences(cupy, seed)) is not None}
    assert wrong == {}


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_random_programs_have_no_race_on_the_stand_in(first):
    assert (
        run(f"""
        import gc, warnings
        warnings.simplefilter("ignore")
        import stress
        for seed in range({first}, {first} + 10):
            del races[:]
            options["event_done"] = seed % 2 == 0  # else copies beside the computation never end
            what = stress.differences(cupy, seed)
            gc.collect()
            if what or races:
                print(seed, what, races[:3])
    """)
        == []
    )


def test_without_cupy_the_command_says_so_and_exits_with_2():
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, str(Path(ag.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    code = "import sys; sys.modules['cupy'] = None; import stress; sys.exit(stress.main())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, "HOST_CUDA_STREAMS": "lazy"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("nothing to run on: ModuleNotFoundError")
    assert "Traceback" not in done.stderr
