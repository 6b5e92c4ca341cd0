"""How a rule finds the names of a call's arguments: as `inspect.Signature.bind` does, errors too."""

import importlib

import pytest

pytest.importorskip("scipy")

from arraygrad.scipy import _declare

CHAPTERS = ("fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "stats")


def calls(parameters):
    """Calls of every number of positional arguments: with all others by name, the needed ones, and one too many."""
    at = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for n in range(len(at) + 2):
        named = [p for p in parameters[n:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        everything = {p.name: ("value of", p.name) for p in reversed(named)}
        yield tuple(range(n)), everything
        yield tuple(range(n)), {p.name: 1 for p in named if p.default is p.empty}
        yield tuple(range(n)), {"no_such_parameter": 1}


def outcome(bind, *call):
    try:
        return list(bind(*call).items())
    except TypeError as error:
        return str(error)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_arguments_are_bound_as_inspect_binds_them(chapter):
    importlib.import_module(f"arraygrad.scipy.{chapter}")
    rules = [r for name, r in _declare.REGISTRY.items() if name.startswith(f"{chapter}.") and r.signature is not None]
    seen = 0
    for rule in rules:
        parameters = list(rule.signature.parameters.values())
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            continue
        for args, kwargs in calls(parameters):
            expected = outcome(lambda a, k, s=rule.signature: s.bind(*a, **k).arguments, args, kwargs)
            assert outcome(rule.bind, args, kwargs) == expected, (rule.name, args, kwargs)
            seen += 1
    assert seen or chapter in ("integrate", "optimize", "sparse", "spatial")


def test_arguments_of_two_stars_stand_among_the_named_ones():
    signature = _declare.parsed("a, *more, b=2, **options")
    assert _declare.Rule("f", (), "", signature=signature).bind((1, 2, 3), {"b": 4, "c": 5}) == {
        "a": 1,
        "more": (2, 3),
        "b": 4,
        "c": 5,
    }
