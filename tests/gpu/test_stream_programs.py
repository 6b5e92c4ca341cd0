"""Random programs on several streams and devices (stress.py): on a device, and on the stand-in, which sees every race.

Imports stress and programs; the public names of arraygrad there.
"""

import pytest
from programs import run


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
