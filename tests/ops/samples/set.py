"""Samples of the set functions. Their integer results have no gradient and are left out."""

from samples._case import case, kink, real


def _values(name):
    return lambda xp, x: getattr(xp, name)(x).values


def _cases(call):
    return [
        case("distinct", call, real(4)),
        case("two axes", call, real(2, 3)),
        kink("equal elements: the first", call, [[2.0, 1.0, 2.0]], [[1.0, 1.0, 0.0]]),
        kink("squared", lambda xp, x: call(xp, x) ** 2, [[2.0, 1.0, 2.0]], [[4.0, 2.0, 0.0]]),
    ]


SAMPLES = {
    "unique_values": _cases(lambda xp, x: xp.unique_values(x)),
    "unique_counts": _cases(_values("unique_counts")),
    "unique_inverse": _cases(_values("unique_inverse")),
    "unique_all": _cases(_values("unique_all")),
}
