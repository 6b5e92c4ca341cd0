"""Operations with several results: the standard's field names, access by place and by name, pickling.

Imports the public names of arraygrad.
"""

import copy
import inspect
import pickle

import numpy as np
import pytest

import arraygrad as ag
import arraygrad.numpy as xp
from arraygrad.ops import OPS

MATRIX = [[2.0, 1.0], [1.0, 3.0]]

# name -> (call, fields), as the standard 2025.12 has them
NAMED = {
    "slogdet": (lambda x: xp.linalg.slogdet(x), ("sign", "logabsdet")),
    "qr": (lambda x: xp.linalg.qr(x), ("Q", "R")),
    "svd": (lambda x: xp.linalg.svd(x), ("U", "S", "Vh")),
    "eigh": (lambda x: xp.linalg.eigh(x), ("eigenvalues", "eigenvectors")),
    "eig": (lambda x: xp.linalg.eig(x), ("eigenvalues", "eigenvectors")),
    "unique_all": (lambda x: xp.unique_all(x), ("values", "indices", "inverse_indices", "counts")),
    "unique_counts": (lambda x: xp.unique_counts(x), ("values", "counts")),
    "unique_inverse": (lambda x: xp.unique_inverse(x), ("values", "inverse_indices")),
}
PLAIN = {"broadcast_arrays", "meshgrid", "nonzero", "unstack"}
INTERNAL = {"_eigh_upper"}  # numpy.linalg.eigh(x, "U")

named = pytest.mark.parametrize(("call", "fields"), NAMED.values(), ids=NAMED)


def result_of(call, requires_grad=False):
    return call(ag.tensor(MATRIX, requires_grad=requires_grad))


def test_every_operation_of_several_results_is_named_here():
    assert {name for name, op in OPS.items() if op.multi} == set(NAMED) | PLAIN | INTERNAL


@named
def test_fields_have_the_names_of_the_standard(call, fields):
    assert result_of(call)._fields == fields


@named
def test_field_is_the_element_at_its_place(call, fields):
    result = result_of(call, requires_grad=True)
    assert isinstance(result, tuple)
    assert len(result) == len(fields)
    for i, field in enumerate(fields):
        assert result[i] is getattr(result, field)
        assert isinstance(result[i], ag.Tensor)


@named
def test_fields_are_those_of_numpy(call, fields):
    ours = result_of(call)
    name = next(name for name, (known, _) in NAMED.items() if known is call)
    owner = np if name.startswith("unique") else np.linalg
    theirs = getattr(owner, name)(np.asarray(MATRIX))
    assert tuple(f.lower() for f in theirs._fields) == tuple(f.lower() for f in fields)
    for mine, raw in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.numpy(), raw)


@named
def test_result_can_be_pickled_and_copied(call, fields):
    result = result_of(call)
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert type(again) is type(result)
        assert again._fields == fields
        for a, b in zip(again, result, strict=True):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


@named
def test_type_of_the_result_is_found_where_it_says_it_is(call, fields):
    kind = type(result_of(call))
    assert getattr(inspect.getmodule(kind), kind.__qualname__) is kind


@named
def test_gradient_reaches_the_argument_through_each_floating_field(call, fields):
    x = ag.tensor(MATRIX, requires_grad=True)
    for field in call(x):
        floating = field.dtype.kind in "fc"
        assert field.requires_grad == floating
        if floating:
            (found,) = ag.autograd.grad(xp.sum(xp.abs(field)), [x], retain_graph=True)
            assert found.shape == x.shape
            assert np.isfinite(found.numpy()).all()


@pytest.mark.parametrize("name", sorted(PLAIN))
def test_other_operations_of_several_results_give_a_plain_tuple(name):
    x = ag.tensor([1.0, 2.0])
    result = xp.unstack(x) if name == "unstack" else xp.nonzero(x) if name == "nonzero" else getattr(xp, name)(x, x)
    assert type(result) is tuple
