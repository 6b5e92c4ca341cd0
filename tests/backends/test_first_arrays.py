"""The first array of a type that arraygrad has not seen: what makes its backend, when threads meet there."""

import threading

import pytest

from arraygrad import backends
from arraygrad.core.value import backend_of


def new_type():
    """A class of arrays of a library of its own: this module."""
    return type("Array", (), {"__array_namespace__": lambda self, api_version=None: None, "__module__": __name__})


@pytest.fixture
def meet(monkeypatch):
    """Has as many threads wait for each other in the middle of making the backend."""
    plain = backends.raw_namespace

    def wait_for(count):
        together = threading.Barrier(count, timeout=60)

        def raw_namespace(library):
            together.wait()
            return plain(library)

        monkeypatch.setattr(backends, "raw_namespace", raw_namespace)

    return wait_for


def test_threads_that_see_the_first_array_of_a_type_at_once_get_one_backend(meet):
    meet(4)
    array = new_type()()
    found = []
    threads = [threading.Thread(target=lambda: found.append(backend_of(array))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [backend_of(array)] * 4
    assert found[0].rule_xp is not None


def test_a_thread_in_the_middle_of_one_type_does_not_hold_up_another_type(meet):
    meet(2)
    arrays = [new_type()(), new_type()()]
    found = []
    threads = [threading.Thread(target=lambda a=a: found.append(backend_of(a))) for a in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {id(backend) for backend in found} == {id(backend_of(array)) for array in arrays}
    assert len(set(map(id, found))) == 2
