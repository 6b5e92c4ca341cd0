# Elements of plain arrays chosen by masks and by numbers, as NumPy's functions of these names do, and their gradients.
# May import: numpy (Python only), engine.arrayops, backends.numpy.elementwise, backends.numpy.lanes,
# backends.numpy.loops, backends.numpy.row_copies.
#
# Values are NumPy's, results row-major. A function leaves to NumPy's what it does not serve; a gradient is then None.
# set_fast_paths(False) leaves all of it alone. Guarded by tests/ops/test_fast_functions.py, x[mask] by
# tests/ops/test_fast_places.py.
from libc.stdint cimport int64_t

import numpy as np

from arraygrad.backends.numpy.lanes cimport Around, around_axis, mask_in_rows, row_major, small_row_major
from arraygrad.backends.numpy.loops cimport (
    SLOT_F32, ArrayView, bools_of, empty_c, fast_enabled, item_size, positions_of, same_shape, view_of,
)
from arraygrad.backends.numpy.row_copies cimport SMALL
from arraygrad.engine.arrayops cimport GradMeta

cdef extern from "choices.hpp" namespace "arraygrad":
    Py_ssize_t count_true(const char* mask, Py_ssize_t n) noexcept
    void masked(Py_ssize_t item, const char* mask, const char* x, char* out, Around a, Py_ssize_t found,
                bint back) noexcept
    void selected(int slot, const char* const* masks, char* const* parts, int count, char* x, double rest,
                  Py_ssize_t n, bint back) noexcept
    bint numbered(int slot, const int64_t* numbers, char* const* parts, int count, char* x, Py_ssize_t n,
                  bint back) noexcept

cdef enum:
    MOST_PARTS = 16


def _given(name):
    function = getattr(np, name)
    return getattr(function, "_implementation", function)


cdef object _ndarray = np.ndarray
_compress, _extract, _select, _choose = _given("compress"), _given("extract"), _given("select"), _given("choose")


# Where a mask holds

cdef object as_mask(object condition):
    """A plain array of booleans as a row-major one; None: it is none."""
    cdef ArrayView m
    if not bools_of(condition, &m):
        return None
    return mask_in_rows(condition, &m)


cdef bint way_along(const ArrayView* m, const Py_ssize_t* dims, int ndim, object axis, Around* way) except -1:
    """Whether a mask chooses along `axis` of an array (None: among all its elements)."""
    cdef int d
    if axis is not None:
        return around_axis(axis, dims, ndim, way) and m.ndim == 1 and m.size == way.n
    way.outer = way.inner = way.n = 1
    for d in range(ndim):
        way.n *= dims[d]
    return m.size == way.n


cdef object taken(object condition, object a, object axis):
    cdef ArrayView m, v, o
    cdef Around way
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t found
    cdef int d, nd = 1
    cdef object out
    if not fast_enabled():
        return None
    condition, a = as_mask(condition), row_major(a)
    if condition is None or a is None:
        return None
    bools_of(condition, &m)
    view_of(a, &v)
    if v.ndim == 0 or not way_along(&m, v.dims, v.ndim, axis, &way):
        return None
    found = count_true(m.data, m.size)
    dims[0] = found
    if axis is not None:
        nd = v.ndim
        for d in range(nd):
            dims[d] = v.dims[d]
        dims[axis if axis >= 0 else axis + nd] = found
    out = empty_c(a, nd, dims)
    view_of(out, &o)
    masked(item_size(v.slot), m.data, v.data, o.data, way, found, False)
    return out


cdef bint leads(const ArrayView* m, const Py_ssize_t* dims, int ndim, Around* way) noexcept:
    """Whether a mask, row-major, has the lengths of an array's first axes."""
    cdef int d
    if not m.c_order or not 0 < m.ndim <= ndim or ndim > 8:
        return False
    way.outer = way.inner = way.n = 1
    for d in range(ndim):
        if d >= m.ndim:
            way.inner *= dims[d]
        elif m.dims[d] == dims[d]:
            way.n *= dims[d]
        else:
            return False
    return True


cdef int pick(int slot, const char* mask, const char* x, char* out, Around way, Py_ssize_t found, bint back) except -1:
    """`masked` for elements of a slot: complex ones are pairs."""
    cdef Py_ssize_t item = item_size(slot)
    if item > 8:
        item //= 2
        way.inner *= 2
    masked(item, mask, x, out, way, found, back)
    return 0


cdef object at_mask(object x, object mask):
    """x[mask] of a row-major array for a mask over its first axes. None: declined."""
    cdef ArrayView m, v, o
    cdef Around way
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t found
    cdef int d
    cdef object out
    if not bools_of(mask, &m) or view_of(x, &v) < 0:
        return None
    if not v.c_order and m.ndim == v.ndim:
        x = small_row_major(x)
    if view_of(x, &v) < 0 or not v.c_order:
        return None
    if not m.c_order and m.size <= SMALL:
        mask = mask_in_rows(mask, &m)
    if not leads(&m, v.dims, v.ndim, &way):
        return None
    dims[0] = found = count_true(m.data, m.size)
    for d in range(m.ndim, v.ndim):
        dims[d - m.ndim + 1] = v.dims[d]
    out = empty_c(x, v.ndim - m.ndim + 1, dims)
    view_of(out, &o)
    pick(v.slot, m.data, v.data, o.data, way, found, False)
    return out


cdef object spread_by_mask(object g, object mask, GradMeta meta):
    """Zeros that match `meta` with a row-major g at [mask]. None: declined."""
    cdef ArrayView m, r, o
    cdef Around way
    cdef Py_ssize_t found
    cdef object out
    if not bools_of(mask, &m) or view_of(g, &r) < 0 or not r.c_order:
        return None
    if not m.c_order and m.size <= SMALL:
        mask = mask_in_rows(mask, &m)
    if not leads(&m, meta.dims, meta.ndim, &way):
        return None
    found = count_true(m.data, m.size)
    if r.size != found * way.inner:
        return None
    out = empty_c(g, meta.ndim, meta.dims)
    view_of(out, &o)
    pick(r.slot, m.data, r.data, o.data, way, found, True)
    return out


def compress(condition, a, axis=None):
    """numpy.compress of plain arrays."""
    cdef ArrayView m
    out = taken(condition, a, axis) if bools_of(condition, &m) and m.ndim == 1 else None
    return _compress(condition, a, axis) if out is None else out


def extract(condition, arr):
    """numpy.extract of plain arrays."""
    out = taken(condition, arr, None)
    return _extract(condition, arr) if out is None else out


def masked_gradient(g, condition, tuple shape, axis=None):
    """Zeros of `shape` with g where a mask chose along `axis`. None: declined."""
    cdef ArrayView m, r, o
    cdef Around way
    cdef Py_ssize_t dims[8]
    cdef Py_ssize_t found
    cdef int d, nd = <int>len(shape)
    cdef object out
    if not fast_enabled() or not 0 < nd <= 8:
        return None
    condition, g = as_mask(condition), row_major(g)
    if condition is None or g is None:
        return None
    bools_of(condition, &m)
    view_of(g, &r)
    for d in range(nd):
        dims[d] = shape[d]
    if not way_along(&m, dims, nd, axis, &way):
        return None
    found = count_true(m.data, m.size)
    if r.size != way.outer * found * way.inner:
        return None
    out = empty_c(g, nd, dims)
    view_of(out, &o)
    masked(item_size(r.slot), m.data, r.data, o.data, way, found, True)
    return out


# One of several arrays

cdef list as_parts(object items, bint masks):
    """Plain arrays (of booleans, if they are masks) as row-major ones; None: other things."""
    cdef list found = []
    if type(items) is not list and type(items) is not tuple or not 0 < len(items) <= MOST_PARTS:
        return None
    for item in items:
        item = as_mask(item) if masks else row_major(item)
        if item is None:
            return None
        found.append(item)
    return found


cdef bint read_masks(list conditions, const ArrayView* like, const char** masks) except -1:
    """Whether all masks have the shape of an array, and where they begin."""
    cdef ArrayView m
    cdef int k
    for k in range(<int>len(conditions)):
        bools_of(conditions[k], &m)
        if not same_shape(&m, like):
            return False
        masks[k] = m.data
    return True


cdef bint read_parts(list items, ArrayView* first, char** parts) except -1:
    """Whether all arrays have one shape, of an axis at least, and dtype, and where they begin."""
    cdef ArrayView v
    cdef int k
    for k in range(<int>len(items)):
        view_of(items[k], &v)
        if k == 0:
            first[0] = v
        if v.ndim == 0 or v.slot != first.slot or not same_shape(&v, first):
            return False
        parts[k] = v.data
    return True


cdef list new_parts(object like, const ArrayView* v, int count, char** parts):
    cdef ArrayView o
    cdef list found = []
    for k in range(count):
        found.append(empty_c(like, v.ndim, v.dims))
        view_of(found[k], &o)
        parts[k] = o.data
    return found


def select(condlist, choicelist, default=0):
    """numpy.select of plain arrays."""
    cdef ArrayView v, o
    cdef const char* masks[MOST_PARTS]
    cdef char* parts[MOST_PARTS]
    cdef double rest
    cdef list conditions, items
    if not fast_enabled() or type(default) is not float and (type(default) is not int or abs(default) > 2**24):
        return _select(condlist, choicelist, default)
    conditions, items = as_parts(condlist, True), as_parts(choicelist, False)
    if conditions is None or items is None or len(conditions) != len(items) or not read_parts(items, &v, parts) \
            or not read_masks(conditions, &v, masks):
        return _select(condlist, choicelist, default)
    rest = default
    if v.slot == SLOT_F32 and type(default) is float and rest != 0.0:       # which it may not hold
        return _select(condlist, choicelist, default)
    out = empty_c(items[0], v.ndim, v.dims)
    view_of(out, &o)
    selected(v.slot, masks, parts, <int>len(items), o.data, rest, v.size, False)
    return out


def select_gradient(g, condlist):
    """The gradients of what numpy.select chooses from. None: declined."""
    cdef ArrayView r
    cdef const char* masks[MOST_PARTS]
    cdef char* parts[MOST_PARTS]
    cdef list conditions
    if not fast_enabled():
        return None
    g, conditions = row_major(g), as_parts(condlist, True)
    if g is None or conditions is None:
        return None
    view_of(g, &r)
    if not read_masks(conditions, &r, masks):
        return None
    found = new_parts(g, &r, <int>len(conditions), parts)
    selected(r.slot, masks, parts, <int>len(conditions), r.data, 0.0, r.size, True)
    return found


cdef object as_numbers(object a):
    """An array of int64 as a row-major one."""
    return a if type(a) is not _ndarray or a.flags.c_contiguous else a.copy("C")


def choose(a, choices):
    """numpy.choose of plain arrays."""
    cdef ArrayView v, o, w
    cdef char* parts[MOST_PARTS]
    cdef Py_ssize_t n = 0
    cdef object numbers = as_numbers(a)
    cdef const int64_t* places = positions_of(numbers, &n)
    cdef list items = as_parts(choices, False) if fast_enabled() and places != NULL else None
    if items is not None and read_parts(items, &v, parts):
        view_of(numbers, &w)
        if same_shape(&w, &v):
            out = empty_c(items[0], v.ndim, v.dims)
            view_of(out, &o)
            if numbered(v.slot, places, parts, <int>len(items), o.data, v.size, False):
                return out
    return _choose(a, choices)


def choose_gradient(g, a, int count):
    """The gradients of the `count` arrays that numpy.choose chooses from. None: declined."""
    cdef ArrayView r, w
    cdef char* parts[MOST_PARTS]
    cdef Py_ssize_t n = 0
    cdef object numbers = as_numbers(a)
    cdef const int64_t* places = positions_of(numbers, &n)
    if not fast_enabled() or places == NULL or not 0 < count <= MOST_PARTS:
        return None
    g = row_major(g)
    if g is None:
        return None
    view_of(g, &r)
    view_of(numbers, &w)
    if not same_shape(&w, &r):
        return None
    found = new_parts(g, &r, count, parts)
    return found if numbered(r.slot, places, parts, count, r.data, r.size, True) else None
