"""How compiled modules come out of their library (Note [Loading] in _compiled.pyx), and names that are made on use."""

import os
import subprocess
import sys
import textwrap

import pytest

import arraygrad
from arraygrad._compiled import NAMES
from arraygrad.namespaces import creation, info


def run(code, *args):
    """The words that a script prints; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *args], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_a_module_has_what_the_import_system_gives_it():
    run(
        """
        import importlib, sys
        import arraygrad
        from arraygrad._compiled import NAMES, Finder

        loaded = [name for name in NAMES if name in sys.modules]
        assert len(loaded) > 50, loaded
        later = sorted(NAMES - set(loaded))
        for name in [*loaded, *later]:
            module = importlib.import_module(name)
            assert module is sys.modules[name]
            parent, _, last = name.rpartition(".")
            assert getattr(sys.modules[parent], last) is module
            wanted = Finder.find_spec(name)
            assert module.__name__ == name
            assert module.__package__ == parent
            assert module.__file__ == wanted.origin == arraygrad._compiled.__file__
            assert module.__loader__ is module.__spec__.loader
            spec = module.__spec__
            assert (spec.name, spec.origin, spec.parent, spec.has_location) == (name, wanted.origin, parent, True)
            assert type(spec.loader) is type(wanted.loader)
            assert not hasattr(module, "__path__")
            assert not spec._initializing
        """
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_any_module_of_the_package_may_be_imported_first():
    run(
        """
        import importlib, os, sys
        import numpy

        def imported(name):
            importlib.import_module(name)
            import arraygrad as ag
            x = ag.tensor([1.0, 2.0], requires_grad=True)
            (x * x).sum().backward()
            assert x.grad.tolist() == [2.0, 4.0]

        for name in sys.argv[1:]:
            child = os.fork()
            if child == 0:
                try:
                    imported(name)
                    os._exit(0)
                except BaseException:
                    import traceback
                    print(name, traceback.format_exc(), file=sys.stderr, flush=True)
                os._exit(1)
            assert os.waitpid(child, 0)[1] == 0, name
        """,
        *sorted(NAMES),
        *[f"arraygrad.{name}" for name in ("numpy", "scipy", "linalg", "ops", "ops.kinds", "namespaces", "numpy_api")],
    )


@pytest.mark.parametrize("error", ["ImportError", "KeyboardInterrupt"])
@pytest.mark.parametrize("name", ["arraygrad.engine.later", "arraygrad._hints", "arraygrad.ops.kinds"])
def test_a_module_that_fails_is_not_kept_and_is_imported_anew(name, error):
    run(
        """
        import importlib, sys
        import numpy

        class Blocked:
            def find_spec(name, path=None, target=None):
                if name == sys.argv[1]:
                    sys.meta_path.remove(Blocked)
                    raise getattr(__builtins__, sys.argv[2])(name)

        sys.meta_path.insert(0, Blocked)
        try:
            import arraygrad
        except (ImportError, KeyboardInterrupt) as error:
            assert str(error) == sys.argv[1], error
        else:
            raise AssertionError("no error")
        for module in [module for name, module in sys.modules.items() if name.startswith("arraygrad")]:
            assert not module.__spec__._initializing, module
        import arraygrad as ag
        x = ag.tensor([1.0, 2.0], requires_grad=True)
        ag.sum(x * ag.exp(x)).backward()
        assert numpy.allclose(x.grad.numpy(), (1 + x.numpy()) * numpy.exp(x.numpy()))
        """,
        name,
        error,
    )


def test_threads_that_import_a_module_at_once_get_one():
    run(
        """
        import importlib, sys, threading
        import numpy

        together = threading.Barrier(8)
        found = []

        def work():
            modules = []
            for name in sys.argv[1:]:
                together.wait()
                modules.append(importlib.import_module(name))
                modules.append(sorted(vars(modules[-1])))
            found.append(modules)

        sys.setswitchinterval(1e-5)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8
        for modules in found:
            assert modules == found[0]
        import arraygrad as ag
        x = ag.tensor([1.0, 2.0], requires_grad=True)
        (x * x).sum().backward()
        assert x.grad.tolist() == [2.0, 4.0]
        """,
        "arraygrad", "arraygrad.transforms.tracked_call_base", "arraygrad.core.containers",
        "arraygrad.adoption.bindings", "arraygrad.adoption.builtin_answers", "arraygrad.adoption.exchange",
    )  # fmt: skip


def test_a_thread_waits_for_a_module_that_another_one_is_importing():
    run(
        """
        import importlib, sys, threading
        import numpy

        name = "arraygrad.engine.node"
        found = threading.Event()
        modules = []

        def work():
            modules.append(importlib.import_module(name))
            modules.append(hasattr(modules[0], "Node"))
            found.set()

        class Hook:
            def find_spec(wanted, path=None, target=None):
                if wanted == "arraygrad.engine.later":  # engine.node imports it as it runs
                    sys.meta_path.remove(Hook)
                    assert sys.modules[name].__spec__._initializing
                    thread.start()
                    assert not found.wait(0.5)

        thread = threading.Thread(target=work)
        sys.meta_path.insert(0, Hook)
        import arraygrad
        thread.join()
        assert modules == [sys.modules[name], True], modules
        """
    )


def test_one_name_of_the_package_asked_for_by_threads_at_once_is_one_function():
    run(
        """
        import sys, threading
        import arraygrad as ag

        names = ["exp", "zeros", "finfo", "concat", "number_policy"]
        assert not any(name in vars(ag) for name in names)
        together = threading.Barrier(8)
        found = []

        def work():
            together.wait()
            found.append([getattr(ag, name) for name in names])

        before = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
        assert len(found) == 8
        for i, name in enumerate(names):
            assert all(one[i] is vars(ag)[name] for one in found), name
        """
    )


def test_the_first_call_of_a_function_of_the_package_imports_nothing():
    run(
        """
        import sys
        import arraygrad as ag

        x = ag.tensor([[2.0, 1.0], [1.0, 3.0]], requires_grad=True)
        before = set(sys.modules)
        y = ag.sum(ag.exp(x) * ag.matmul(x, x), axis=0) + ag.max(x) + ag.concat([x, x])[0] + ag.where(x > 1.5, x, 0.0)
        ag.mean(y).backward()
        assert sorted(set(sys.modules) - before) == []
        """
    )


def test_functions_that_are_written_out_are_those_at_top_level():
    xp = arraygrad.backends.numpy.BACKEND.xp
    written = {**creation.make_creation(xp, "arraygrad", None), **info.make_info(xp, "arraygrad")}
    del written["asarray"]  # the core's
    assert len(written) > 15
    for name, function in written.items():
        assert getattr(arraygrad, name).__code__ is function.__code__, name


def test_every_name_of_the_package_is_made_on_use_once():
    namespace = {}
    exec("from arraygrad import *", namespace)
    for name in arraygrad.__all__:
        assert namespace[name] is getattr(arraygrad, name), name
        assert name in dir(arraygrad)
