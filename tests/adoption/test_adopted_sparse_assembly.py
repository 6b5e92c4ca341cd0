"""Sparse matrices that a program assembles: every constructor, of recorded values and places in any mixture."""

import numpy as np
import pytest

sp = pytest.importorskip("scipy.sparse", reason="SciPy, which is optional, is not installed")

import arraygrad as ag

DATA = np.array([1.0, 2.0, 3.0])
# Two columns of places, one of values: what a program reads from a file.
TABLE = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 0.0, 1.5]])
STARTS = np.arange(4)


def whole(table):
    return table[:, 0].astype(int), table[:, 1].astype(int)


def as_floats(table):
    return table[:, 0], table[:, 1]


def as_numbers(table):
    return [int(a) for a in table[:, 0]], [int(a) for a in table[:, 1]]


def as_list(table):
    return list(table[:, 0]), list(table[:, 1])


def written(table):
    places = np.zeros((3, 2))
    places[:, 0], places[:, 1] = table[:, 0], table[:, 1]
    places = places.astype(int)
    return places[:, 0], places[:, 1]


PLACES = {"whole": whole, "floats": as_floats, "numbers": as_numbers, "list": as_list, "written": written}
VALUES = {
    "plain": lambda table: DATA,
    "recorded": lambda table: table[:, 2],
    "list": lambda table: [DATA[0], table[1, 2] ** 2, 1.5],
    "array": lambda table: np.array([1.0, 2.0, 3.0]) * table[2, 2],
}


def of_places(kind):
    def make(table, values, places):
        return getattr(sp, kind)((values, places), shape=(3, 3))

    return make


def of_starts(table, values, places):
    return sp.csr_matrix((values, places[1], STARTS), shape=(3, 3))


def of_cells(kind):
    def make(table, values, places):
        made = getattr(sp, kind)((3, 3))
        for i, j, value in zip(*places, values, strict=True):
            made[int(i), int(j)] += value
        return made.tocsr()

    return make


def of_sums(table, values, places):
    made = sp.csr_matrix((3, 3))
    for i, j, value in zip(*places, values, strict=True):
        made = made + sp.coo_matrix(([value], ([int(i)], [int(j)])), shape=(3, 3)).tocsr()
    return made


def of_diagonals(table, values, places):
    return sp.dia_matrix((np.array([values, values]), np.array(places[0][:2]).astype(int)), shape=(3, 3))


def of_blocks(table, values, places):
    blocks = np.empty((2, 2), dtype=object)
    blocks[0, 0] = sp.coo_matrix((values, places), shape=(3, 3))
    blocks[1, 1] = sp.eye(3)
    return sp.bmat(blocks).tocsr()[:3, :3]


MAKERS = {
    **{kind: of_places(kind) for kind in ("coo_matrix", "csr_matrix", "csc_matrix", "coo_array", "csr_array")},
    "starts": of_starts, "lil": of_cells("lil_matrix"), "dok": of_cells("dok_matrix"), "sums": of_sums,
    "dia": of_diagonals, "blocks": of_blocks,
}  # fmt: skip
# SciPy takes these places in no other form than integers.
INTEGERS = ("starts", "csr_matrix", "csc_matrix", "csr_array")


def cases():
    for maker in MAKERS:
        for places in PLACES:
            for values in VALUES:
                if not (maker in INTEGERS and places in ("floats", "list")):
                    yield maker, places, values


@pytest.mark.parametrize(("maker", "places", "values"), list(cases()))
@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
def test_assembly(maker, places, values):
    def program(table):
        made = MAKERS[maker](table, VALUES[values](table), PLACES[places](table))
        return ((made @ table[:, 2]) ** 2).sum()

    value, found = ag.value_and_grad(program, adopt=True)(TABLE)
    np.testing.assert_allclose(value, program(TABLE), rtol=1e-14)
    assert not found[:, :2].any()  # places are whole numbers

    h = 1e-6
    for i in range(3):
        up, down = TABLE.copy(), TABLE.copy()
        up[i, 2] += h
        down[i, 2] -= h
        np.testing.assert_allclose(found[i, 2], (program(up) - program(down)) / (2 * h), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    "make",
    [
        lambda n, t: sp.csr_matrix((n, n)) + sp.diags(t),
        lambda n, t: sp.coo_matrix((t, ([0, 1, 2], [0, 1, 2])), shape=(n, n)),
        lambda n, t: sp.coo_matrix((DATA, ([0, 1, 2], [0, 1, 2])), shape=(n, n)) * t[0],
        lambda n, t: sp.eye(n) * t[0],
        lambda n, t: sp.diags([t, t[:2]], [0, 1], shape=(n, n)),
        lambda n, t: sp.identity(n, format="csr") @ sp.diags(t),
        lambda n, t: sp.lil_matrix((n, n)).tocsr() + sp.diags(t),
    ],
)
def test_shapes_that_are_computed_of_recorded_numbers(make):
    def program(t):
        n = (t[2] + 0.5).astype(int)
        return (make(n, t) @ np.ones(3)).sum()

    t = np.array([0.5, 1.5, 2.7])
    value, found = ag.value_and_grad(program, adopt=True)(t)
    np.testing.assert_allclose(value, program(t))
    h = 1e-6
    steps = [(program(t + h * e) - program(t - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(found, steps, rtol=1e-6)


def of_object_array(t):
    return sp.bmat(np.array([[sp.diags(t), None], [None, sp.eye(3)]], dtype=object))


def of_filled_objects(t):
    blocks = np.full((2, 2), None, dtype=object)
    blocks[0, 0], blocks[1, 0], blocks[1, 1] = sp.diags(t), sp.csr_matrix(np.outer(t, t)), sp.eye(3)
    return sp.bmat(blocks, format="csr")


def of_object_list(t):
    return sp.block_array([[sp.diags_array(t), None], [sp.csr_array(np.outer(t, t)), sp.eye_array(3)]])


def of_constant_objects(t):
    blocks = np.array([[sp.eye(3), None], [None, 2.0 * sp.eye(3)]], dtype=object)
    return sp.bmat(blocks) * t[1]


@pytest.mark.parametrize("make", [of_object_array, of_filled_objects, of_object_list, of_constant_objects])
def test_tables_of_blocks(make):
    weights = np.arange(1.0, 7.0)

    def program(t):
        return ((make(t) @ weights) ** 2).sum()

    t = np.array([0.5, 1.5, 2.5])
    value, found = ag.value_and_grad(program, adopt=True)(t)
    np.testing.assert_allclose(value, program(t))
    h = 1e-6
    steps = [(program(t + h * e) - program(t - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(found, steps, rtol=1e-6)


def test_an_array_of_a_matrix_is_one_object_as_in_the_plain_call():
    def program(t):
        held = np.asarray(sp.diags(t))
        assert held.shape == ()
        assert held.dtype == object
        return (held[()] @ t).sum()

    np.testing.assert_allclose(ag.grad(program, adopt=True)(DATA), 2.0 * DATA)
    program(DATA)


MATRICES = {
    "solve": lambda m, b: np.linalg.solve(m, b),
    "solve of an array": lambda m, b: np.linalg.solve(m, np.asarray(b)),
    "inv": lambda m, b: np.linalg.inv(m) * b,
    "pinv": lambda m, b: np.linalg.pinv(m) * b,
    "det": lambda m, b: np.linalg.det(m) * b,
}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("f", MATRICES.values(), ids=MATRICES)
def test_linear_algebra_of_what_todense_gives(f):
    def loss(x):
        m = sp.csr_matrix((np.array([2.0 + x, x, 3.0 * x]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2)).todense()
        out = np.zeros((2, 2))
        out[:, :] = f(m, m.T)
        return (out**2).sum()

    value, found = ag.value_and_grad(loss)(0.7)
    assert value == pytest.approx(loss(0.7), rel=1e-13)
    assert found == pytest.approx((loss(0.7 + 1e-6) - loss(0.7 - 1e-6)) / 2e-6, rel=1e-6)
