"""Einstein summation: reading the subscripts, the contraction over the standard, and the derivative.

May import: the standard library only. Everything uses only the standard, and the library's own einsum where it is one
(NumPy, CuPy, PyTorch, JAX).

Subscripts are read into one tuple of labels per operand and one for the result. A label is a letter of the subscripts,
or an int for an axis that an ellipsis stands for, counted from the last (-1): so operands of different dimensions share
the axes that broadcast.
"""

import functools
import math

# Libraries whose einsum takes explicit subscripts and operands as NumPy's does, and `optimize` where that is True.
_NATIVE = {"numpy": True, "cupy": True, "jax": True, "torch": False}


def forward(xp, subscripts, operands, optimize):
    """einsum(subscripts, *operands): see the table."""
    inputs, output = _labels(subscripts, operands)
    library = type(operands[0]).__module__.partition(".")[0]
    library = "jax" if library == "jaxlib" else library
    # the library's own: the namespace that forwards see would give the table's, where the library has none
    native = getattr(getattr(xp, "_raw", xp), "einsum", None) if library in _NATIVE else None
    if native is None:
        result = _contract_all(xp, [list(labels) for labels in inputs], list(operands), output)
        if len(operands) == 1 and len(set(inputs[0])) < len(inputs[0]) and set(output) == set(inputs[0]):
            result = xp.asarray(result, copy=True)  # a diagonal, which libraries show read-only
    elif not _NATIVE[library]:
        result = native(_text(inputs, output), *operands)
    else:
        plan = None
        if optimize is True and len(operands) == 2:
            plan = _matmul_plan(*inputs, output, operands[0].shape, operands[1].shape)
        if plan is not None and operands[0].dtype == operands[1].dtype and operands[0].dtype.kind in "fc":
            return _by_matmul(xp, plan, *operands)
        # A pair that is no product of matrices is one pass: there is no order of products to look for.
        optimize = optimize if len(operands) > 2 or (len(operands) == 2 and optimize is not True) else False
        result = native(_text(inputs, output), *operands, optimize=optimize)
    return result


def _are_plain(*arrays):
    """Whether all are arrays of NumPy's of one floating-point dtype."""
    dtype = arrays[0].dtype
    for x in arrays:
        if type(x).__module__ != "numpy" or x.dtype != dtype:
            return False
    return dtype.kind in "fc"


def contraction(subscripts, shapes):
    """How einsum of operands of these shapes computes, for NumPy's arrays of real numbers.

    Returns the subscripts written out, the `_matmul_plan` of two operands (None: they are no product of matrices), and
    for more operands the steps: (places of the operands that are taken out, their subscripts), where each result is
    put last. Raises ValueError for subscripts that do not fit the shapes.
    """
    inputs, output = _read(subscripts, tuple([len(shape) for shape in shapes]))
    _sizes(inputs, shapes)
    text = _text(inputs, output)
    if len(shapes) == 2:
        return text, _matmul_plan(*inputs, output, *shapes), None
    return text, None, _steps(text, shapes) if len(shapes) > 2 else None


def small_plan(subscripts, shapes):
    """The `_matmul_plan` of two operands that become many small matrices, sums of which or not; None: they don't."""
    inputs, output = _read(subscripts, tuple([len(shape) for shape in shapes]))
    (a, b), sizes = inputs, _sizes(inputs, shapes)
    count, rows, columns, summed = [
        math.prod([n for label, n in sizes.items() if (label in a, label in b, label in output) == where])
        for where in ((True, True, True), (True, False, True), (False, True, True), (True, True, False))
    ]
    few = 8 if summed > 1 else 64  # beyond, BLAS and NumPy's own loops are as fast
    if count < 16 or summed > 8 or rows > few or columns > few:
        return None
    return _matmul_plan(a, b, output, *shapes, outer=True)


def _steps(text, shapes):
    """Products of pairs in the order that numpy.einsum_path finds for `optimize=True`."""
    import numpy

    left, _, output = text.partition("->")
    terms = left.split(",")
    views = [numpy.broadcast_to(0.0, shape) for shape in shapes]
    path, _ = numpy.einsum_path(text, *views, optimize="greedy")
    steps = []
    for places in path[1:]:
        chosen = [terms[i] for i in places]
        terms = [term for i, term in enumerate(terms) if i not in places]
        needed = set(output).union(*terms)
        result = output if not terms else "".join(dict.fromkeys(x for term in chosen for x in term if x in needed))
        terms.append(result)
        steps.append((tuple(places), ",".join(chosen) + "->" + result))
    return steps


def gradient_way(subscripts, shapes, k):
    """How the gradient of the k-th operand is computed, for NumPy's arrays of real numbers.

    Returns the subscripts of the result's gradient and the other operands, the shape of what they give before it is
    broadcast (None: it is not), the shape after that, and the subscripts of the operand's diagonals (None: it has
    none).
    """
    inputs, output = _read(subscripts, tuple([len(shape) for shape in shapes]))
    sizes = _sizes(inputs, shapes)
    given, rest = (*inputs[:k], *inputs[k + 1 :]), (*shapes[:k], *shapes[k + 1 :])
    labels = inputs[k]
    known = (tuple([sizes[label] for label in output]), *rest)
    text, spread, sizes, distinct = _gradient_plan(output, given, labels, tuple(shapes[k]), known)
    return text, spread, sizes, None if distinct is None else _text((labels,), distinct)


@functools.lru_cache(maxsize=1024)
def _matmul_plan(a_labels, b_labels, output, a_shape, b_shape, outer=False):
    """How two operands become a product of stacks of matrices; None: they don't, or an axis of length 1 broadcasts.

    With `outer` so do operands of which nothing is summed: products of one column and one row. Raises ValueError for
    axes that do not fit.
    """
    _sizes([a_labels, b_labels], [a_shape, b_shape])
    sizes = dict(zip((*a_labels, *b_labels), (*a_shape, *b_shape), strict=True))
    if len(set(a_labels)) < len(a_labels) or len(set(b_labels)) < len(b_labels):
        return None
    if any(sizes[label] != n for label, n in zip(a_labels, a_shape, strict=True)):
        return None
    shared = [x for x in a_labels if x in b_labels]
    contracted = [x for x in shared if x not in output]
    rows = [x for x in a_labels if x not in shared]
    columns = [x for x in b_labels if x not in shared]
    if not (contracted or outer) or not set(output) >= {*rows, *columns}:
        return None
    batch = [x for x in output if x in shared]

    def way(labels, order, groups):
        """(permutation or None, shape or None) that bring an operand into stacks of matrices."""
        axes = tuple([labels.index(x) for x in order])
        shape = (*[sizes[x] for x in batch], *[math.prod([sizes[x] for x in group]) for group in groups])
        return (
            None if axes == tuple(range(len(axes))) else axes,
            None if shape == tuple([sizes[x] for x in order]) else shape,
        )

    a = way(a_labels, [*batch, *rows, *contracted], (rows, contracted))
    b = way(b_labels, [*batch, *contracted, *columns], (contracted, columns))
    made = [*batch, *rows, *columns]
    shape = tuple([sizes[x] for x in made])
    axes = tuple([made.index(x) for x in output])
    return (
        *a,
        *b,
        None if len(rows) == len(columns) == 1 else shape,
        None if axes == tuple(range(len(axes))) else axes,
    )


def _by_matmul(xp, plan, a, b):
    a_axes, a_shape, b_axes, b_shape, shape, axes = plan
    if a_axes is not None:
        a = a.transpose(a_axes)
    if a_shape is not None:
        a = a.reshape(a_shape)
    if b_axes is not None:
        b = b.transpose(b_axes)
    if b_shape is not None:
        b = b.reshape(b_shape)
    result = xp.matmul(a, b)
    if shape is not None:
        result = result.reshape(shape)
    return result if axes is None else result.transpose(axes)


def rule(xp, g, subscripts, operands, optimize):
    """One gradient for each operand: the einsum of g with the others, spread where the operand alone had a label.

    `optimize` was the result's: gradients are sums of other products, in the order that is best for them.
    """
    if len(operands) == 2 and _are_plain(g, *operands):
        a, b = operands
        plans = pair_gradients(subscripts, a.shape, b.shape)
        if plans is not None:
            return [
                _by_matmul(xp, plan, *((g, x) if first else (x, g)))
                for (first, plan), x in zip(plans, (b, a), strict=True)
            ]
    inputs, output = _labels(subscripts, operands)
    gradients = []
    for k, labels in enumerate(inputs):
        others = (*operands[:k], *operands[k + 1 :])
        given = (*inputs[:k], *inputs[k + 1 :])
        gradients.append(_gradient(xp, g, output, given, others, labels, operands[k].shape))
    return gradients


@functools.lru_cache(maxsize=1024)
def pair_gradients(subscripts, a_shape, b_shape):
    """(whether the gradient is the first factor, `_matmul_plan`) for the gradient of each of two operands; None: one of
    them is no product of matrices, or has to be spread."""
    (a, b), output = _read(subscripts, (len(a_shape), len(b_shape)))
    sizes = _sizes((a, b), (a_shape, b_shape))
    shape = tuple([sizes[label] for label in output])
    found = []
    for labels, own, other, given in ((a, a_shape, b, b_shape), (b, b_shape, a, a_shape)):
        _, spread, _, distinct = _gradient_plan(output, (other,), labels, own, (shape, given))
        if spread is not None or distinct is not None:
            return None
        ways = ((True, (output, other, labels, shape, given)), (False, (other, output, labels, given, shape)))
        plans = [(first, _matmul_plan(*way)) for first, way in ways]
        if plans[0][1] is None:
            return None
        found.append(plans[1] if plans[1][1][-1] is None else plans[0])  # what needs no transposition
    return tuple(found)


def view_rule(xp, g, shape, subscripts):
    """The gradient of the only operand, of which its shape is enough."""
    (labels,), output = _read(subscripts, (len(shape),))
    return _gradient(xp, g, output, (), (), labels, tuple(shape))


def _gradient(xp, g, output, given, others, labels, shape):
    """Gradient of the operand with `labels` and `shape`, from that of the result and the other operands."""
    shapes = (tuple(g.shape), *[tuple(other.shape) for other in others])
    text, spread, sizes, distinct = _gradient_plan(output, given, labels, tuple(shape), shapes)
    value = xp._einsum(text, g, *others, optimize=True)
    if spread is not None:
        value = xp.broadcast_to(xp.reshape(value, spread), sizes)
    return value if distinct is None else _on_diagonal(xp, value, distinct, labels, shape)


@functools.lru_cache(maxsize=1024)
def _gradient_plan(output, given, labels, shape, shapes):
    """Subscripts of a gradient, the shapes to which it is then reshaped and broadcast, and labels that are repeated."""
    sizes = dict(zip(labels, shape, strict=True))
    known = {label for one in (output, *given) for label in one}
    full = _sizes([output, *given], shapes)
    # A label of the operand that nothing else has was summed away; one that it has with length 1 was broadcast.
    target = tuple([label for label in sizes if label in known and sizes[label] == full[label]])
    spread = None
    if len(target) < len(sizes):
        spread = tuple([size if label in target else 1 for label, size in sizes.items()])
    distinct = tuple(sizes) if len(sizes) < len(labels) else None
    return _text((output, *given), target), spread, tuple(sizes.values()), distinct


def _on_diagonal(xp, value, distinct, labels, shape):
    """Zeros of `shape` with `value`, whose axes are the distinct labels, where axes of one label have one index."""
    if len(distinct) == len(labels):
        return value
    seen, key = [], []
    for label in labels:
        key.append(slice(None) if label not in seen else None)
        seen.append(label)
    value = value[tuple(key)]
    ndim = len(labels)
    device = getattr(value, "device", None)
    for axis, label in enumerate(labels):
        first = labels.index(label)
        if first == axis:
            continue
        index = xp.arange(shape[axis], device=device)
        row = xp.reshape(index, tuple([-1 if i == first else 1 for i in range(ndim)]))
        column = xp.reshape(index, tuple([-1 if i == axis else 1 for i in range(ndim)]))
        value = xp.where(row == column, value, 0.0)
    return value


# -- subscripts --------------------------------------------------------------------------------------------------------


def sums_over_ellipsis(subscripts, ndims):
    """Whether an ellipsis stands for axes of operands of these dimensions and for none of the result: NumPy's error."""
    inputs, output = _read(subscripts, tuple(ndims))
    return any(label not in output for labels in inputs for label in labels if not isinstance(label, str))


def _labels(subscripts, operands):
    """(labels of each operand, labels of the result)."""
    if not isinstance(subscripts, str):
        raise TypeError(
            f"einsum: subscripts must be a str such as 'ij,jk->ik', got {type(subscripts).__name__}; the form with "
            "lists of labels is served by numpy.einsum"
        )
    return _read(subscripts, tuple([len(operand.shape) for operand in operands]))


@functools.lru_cache(maxsize=1024)
def _read(subscripts, ndims):
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise ValueError(
            f"einsum: {subscripts!r} has subscripts for {len(terms)} operands, but {len(ndims)} were given"
        )
    inputs = tuple([_read_term(subscripts, term, n, i) for i, (term, n) in enumerate(zip(terms, ndims, strict=True))])
    widest = max([sum(not isinstance(label, str) for label in labels) for labels in inputs])
    if arrow:
        output = _read_term(subscripts, right, None, widest)
    else:
        letters = sorted([label for label in left if label.isalpha()])
        once = [label for label in letters if letters.count(label) == 1]
        output = (*range(-widest, 0), *once)
    for label in output:
        if isinstance(label, str) and not any(label in labels for labels in inputs):
            raise ValueError(f"einsum: {subscripts!r}: label {label!r} of the result is in no operand")
        if output.count(label) > 1:
            raise ValueError(f"einsum: {subscripts!r}: label {label!r} of the result is there more than once")
    return inputs, output


def _read_term(subscripts, term, ndim, number):
    """Labels of one term; for the result ndim is None, and `number` the axes that an ellipsis stands for."""
    before, ellipsis, after = term.partition("...")
    if not all(label.isalpha() and label.isascii() for label in before + after):
        raise ValueError(f"einsum: {subscripts!r}: expected letters, one '...' in a term, ',' and '->', got {term!r}")
    if ndim is None:
        count = number if ellipsis else 0
    else:
        count = ndim - len(before) - len(after)
        if count < 0 or (count > 0 and not ellipsis):
            raise ValueError(
                f"einsum: {subscripts!r}: operand {number} has {ndim} dimensions, but its subscripts {term!r} name "
                f"{len(before) + len(after)}"
            )
    return (*before, *range(-count, 0), *after)


@functools.lru_cache(maxsize=1024)
def _text(inputs, output):
    """Explicit subscripts in letters alone."""
    letters = {label: label for labels in inputs for label in labels if isinstance(label, str)}
    free = (c for c in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if c not in letters)
    for labels in inputs:
        for label in labels:
            if label not in letters:
                letters[label] = next(free)
    return (
        ",".join(["".join([letters[x] for x in labels]) for labels in inputs])
        + "->"
        + "".join([letters[x] for x in output])
    )


def _sizes(inputs, shapes):
    """Length of every label: that of the axes that have it, where those of length 1 broadcast."""
    sizes = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        for label, n in zip(labels, shape, strict=True):
            known = sizes.get(label, 1)
            if known != 1 and n not in (1, known):
                raise ValueError(
                    f"einsum: an axis has length {n}, but another with the same label {label!r} has {known}"
                )
            sizes[label] = known if n == 1 else n
    return sizes


# -- contraction over the standard -------------------------------------------------------------------------------------


def _contract_all(xp, inputs, operands, output):
    """The sum of products by pairs, each time those with the smallest result."""
    sizes = _sizes(inputs, [operand.shape for operand in operands])
    for k in range(len(operands)):
        inputs[k], operands[k] = _diagonals(xp, inputs[k], operands[k])
    while len(operands) > 1:
        i, j = _best_pair(inputs, output, sizes)
        b_labels, b = inputs.pop(j), operands.pop(j)
        a_labels, a = inputs.pop(i), operands.pop(i)
        needed = {label for labels in (output, *inputs) for label in labels}
        labels, product = _pair(xp, a_labels, a, b_labels, b, needed, sizes)
        inputs.append(labels)
        operands.append(product)
    labels, value = _summed(xp, inputs[0], operands[0], set(output))
    return xp.permute_dims(value, tuple([labels.index(label) for label in output]))


def _best_pair(inputs, output, sizes):
    best, found = None, (0, 1)
    for i in range(len(inputs)):
        for j in range(i + 1, len(inputs)):
            rest = [labels for k, labels in enumerate(inputs) if k not in (i, j)]
            needed = {label for labels in (output, *rest) for label in labels}
            size = math.prod([sizes[x] for x in {*inputs[i], *inputs[j]} if x in needed])
            if best is None or size < best:
                best, found = size, (i, j)
    return found


def _diagonals(xp, labels, x):
    """An operand with the axes of a repeated label taken along their diagonal."""
    labels = list(labels)
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            if x.shape[first] != x.shape[second]:
                raise ValueError(
                    f"einsum: axes of lengths {x.shape[first]} and {x.shape[second]} of one operand have the label "
                    f"{label!r}"
                )
            x = xp.linalg.diagonal(xp.moveaxis(x, (first, second), (-2, -1)))
            del labels[second], labels[first]
            labels.append(label)
    return labels, x


def _summed(xp, labels, x, needed):
    """An operand with the axes summed whose labels are not needed."""
    axes = tuple([i for i, label in enumerate(labels) if label not in needed])
    if axes:
        x = xp.sum(x, axis=axes, dtype=x.dtype)
    return [label for label in labels if label in needed], x


def _pair(xp, a_labels, a, b_labels, b, needed, sizes):
    """Product of two operands, summed over the labels that nothing else needs: (labels, array)."""
    a_labels, a = _summed(xp, a_labels, a, needed | set(b_labels))
    b_labels, b = _summed(xp, b_labels, b, needed | set(a_labels))
    shared = [x for x in a_labels if x in b_labels]
    batch = [x for x in shared if x in needed]
    contracted = [x for x in shared if x not in needed]
    a_only = [x for x in a_labels if x not in shared]
    b_only = [x for x in b_labels if x not in shared]
    n_batch, n_a, n_b = len(batch), len(a_only), len(b_only)
    a = _arranged(xp, a, a_labels, [*batch, *a_only, *contracted], sizes, shared if contracted else ())
    b = _arranged(xp, b, b_labels, [*batch, *contracted, *b_only], sizes, shared if contracted else ())
    labels = [*batch, *a_only, *b_only]
    if not contracted:  # no sum: an outer product over what is not shared, with broadcasting
        a = xp.reshape(a, (*a.shape, *([1] * n_b)))
        b = xp.reshape(b, (*b.shape[:n_batch], *([1] * n_a), *b.shape[n_batch:]))
        return labels, a * b
    lead = a.shape[:n_batch]
    rows, columns = a.shape[n_batch : n_batch + n_a], b.shape[b.ndim - n_b :]
    inner = math.prod([sizes[x] for x in contracted])
    a = xp.reshape(a, (*lead, math.prod(rows), inner))
    b = xp.reshape(b, (*lead, inner, math.prod(columns)))
    return labels, xp.reshape(xp.matmul(a, b), (*lead, *rows, *columns))


def _arranged(xp, x, labels, order, sizes, broadcast):
    """x with its axes in the order of labels given; those of `broadcast` labels at their full length."""
    x = xp.permute_dims(x, tuple([labels.index(label) for label in order]))
    shape = tuple([sizes[label] if label in broadcast else n for label, n in zip(order, x.shape, strict=True)])
    return x if shape == tuple(x.shape) else xp.broadcast_to(x, shape)
