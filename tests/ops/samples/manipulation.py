"""Samples of the manipulation functions."""

import numpy as np

from samples._case import case, cplx, kink, real


def _calls(name, *variants, make=real, shape=(2, 3)):
    """One case for each variant: arguments after the array, keywords last."""
    cases = []
    for variant in variants:
        options = variant[-1] if variant and isinstance(variant[-1], dict) else {}
        args = variant[: len(variant) - bool(options)]
        label = ", ".join([*map(str, args), *(f"{key}={value}" for key, value in options.items())])
        cases.append(case(label, lambda xp, x, a=args, o=options: getattr(xp, name)(x, *a, **o), make(*shape)))
    return cases


def _joined(name, *shapes, **options):
    arrays = [real(*shape, seed=i) for i, shape in enumerate(shapes)]
    label = f"{shapes}, {options}"
    return case(label, lambda xp, *a: getattr(xp, name)(list(a), **options), *arrays)


SAMPLES = {
    "reshape": _calls("reshape", ((3, 2),), ((-1,),), ((6, 1),), ((1, 2, 3),), ((3, 2), {"copy": True}))
    + _calls("reshape", ((1, 1),), ((1,),), shape=())
    + _calls("reshape", ((),), shape=(1, 1))
    + _calls("reshape", ((3, 0),), shape=(0, 2))
    + _calls("reshape", ((4,),), make=cplx, shape=(2, 2)),
    "expand_dims": _calls("expand_dims", ({"axis": 0},), ({"axis": 1},), ({"axis": -1},), ({"axis": -3},))
    + _calls("expand_dims", ({"axis": (0, 2)},), ({"axis": (-1, 0)},)),
    "squeeze": _calls("squeeze", ({"axis": 0},), ({"axis": (0, 2)},), ({"axis": -1},), shape=(1, 2, 1)),
    "permute_dims": _calls("permute_dims", ((1, 0),), ((0, 1),), ((-1, 0),))
    + _calls("permute_dims", ((2, 0, 1),), ((1, -1, 0),), shape=(2, 3, 2))
    + _calls("permute_dims", ((),), shape=()),
    "moveaxis": _calls("moveaxis", (0, 2), (-1, 0), ((0, 1), (2, 0)), (1, -1), shape=(2, 3, 2)),
    "flip": _calls("flip", ({"axis": None},), ({"axis": 0},), ({"axis": -1},), ({"axis": (0, 1)},)),
    "roll": _calls(
        "roll",
        (1,),
        (-2,),
        (1, {"axis": 0}),
        (2, {"axis": -1}),
        ((1, 2), {"axis": (0, 1)}),
        (1, {"axis": (0, 1)}),
    ),
    "broadcast_to": _calls("broadcast_to", ((2, 3),), ((4, 2, 3),))
    + _calls("broadcast_to", ((2, 3),), ((2, 2, 3),), shape=(3,))
    + _calls("broadcast_to", ((2, 3),), shape=(2, 1))
    + _calls("broadcast_to", ((2, 2),), shape=()),
    "broadcast_arrays": [
        case("two", lambda xp, x, y: xp.broadcast_arrays(x, y), real(2, 1), real(3)),
        case("three", lambda xp, x, y, z: xp.broadcast_arrays(x, y, z), real(2, 1), real(3), real()),
        case("one result used", lambda xp, x, y: xp.broadcast_arrays(x, y)[1], real(2, 1), real(3)),
    ],
    "repeat": _calls("repeat", (2,), (3, {"axis": 0}), (2, {"axis": 1}), (2, {"axis": -2}), (0,))
    + [
        case("array", lambda xp, x: xp.repeat(x, xp.asarray([2, 0, 3])), real(3)),
        case("array, axis=1", lambda xp, x: xp.repeat(x, xp.asarray([1, 3, 2]), axis=1), real(2, 3)),
        case("array, axis=-2", lambda xp, x: xp.repeat(x, xp.asarray([2, 1]), axis=-2), real(2, 3)),
        kink("copies add", lambda xp, x: xp.repeat(x, xp.asarray([2, 0, 3])), [[1.0, 2.0, 3.0]], [[2.0, 0.0, 3.0]]),
    ],
    "tile": _calls("tile", ((2,),), ((1, 3),), ((2, 2),), ((2, 1, 2),), ((),), ((0, 1),))
    + _calls("tile", ((3,),), ((2, 2),), shape=()),
    "concat": [
        _joined("concat", (2, 3), (1, 3)),
        _joined("concat", (2, 3), (2, 1), (2, 2), axis=1),
        _joined("concat", (2, 3), (2, 0), axis=-1),
        _joined("concat", (2, 3), (2,), (), axis=None),
        _joined("concat", (3,)),
        case("one array twice", lambda xp, x: xp.concat([x, x]), real(3)),
        case("tuple", lambda xp, x, y: xp.concat((x, y)), real(3), cplx(2)),
        case("with a constant", lambda xp, x: xp.concat([xp.ones(2, dtype=x.dtype), x]), real(3)),
    ],
    "stack": [
        _joined("stack", (2, 3), (2, 3)),
        _joined("stack", (2, 3), (2, 3), axis=1),
        _joined("stack", (2, 3), (2, 3), (2, 3), axis=-1),
        _joined("stack", (), ()),
        case("one array twice", lambda xp, x: xp.stack([x, x]), real(3)),
        case("complex", lambda xp, x, y: xp.stack([x, y]), cplx(3), cplx(3, seed=1)),
    ],
    "unstack": [
        case("all", lambda xp, x: xp.unstack(x), real(3, 2)),
        case("axis=1", lambda xp, x: xp.unstack(x, axis=1), real(3, 2)),
        case("axis=-1", lambda xp, x: xp.unstack(x, axis=-1), real(3, 2)),
        case("some", lambda xp, x: xp.unstack(x)[1] ** 2, real(3, 2)),
        case("one axis", lambda xp, x: xp.unstack(x), real(3)),
        case("complex", lambda xp, x: xp.unstack(x)[0], cplx(3)),
    ],
}
SAMPLES["flip"].append(case("default", lambda xp, x: xp.flip(x), np.array(1.5)))
