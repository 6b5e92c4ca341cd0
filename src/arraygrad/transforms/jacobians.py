"""Blocks of Jacobians from a tracked call: rows by reverse passes, columns by forward ones.

May import: transforms.tracked_call, transforms.batched, core.containers, core.constructors, core.tensor, numpy.
`gradients.py` holds the public functions.
"""

from __future__ import annotations

import numpy as np

from arraygrad.core.constructors import wrap_raw
from arraygrad.core.containers import unflatten
from arraygrad.core.tensor import Tensor
from arraygrad.transforms.tracked_call import give_back, meta_of

__all__ = ["forward_blocks", "in_structure", "reverse_blocks"]

# A complex function counts as holomorphic at a point where its derivative by conj(z) is smaller than this many times
# the rounding error of the derivative by z. Rounding errors of long programs stay far below, other functions above.
HOLOMORPHIC_ULPS = 1e4


def reverse_blocks(tracked, chunk_size=None, done=None):
    """For each output the list of its blocks, one per edge, of shape output + input.

    At most `chunk_size` rows are computed at a time. `done(n)` is called after each n rows.
    """
    blocks = []
    for i, output in enumerate(tracked.outputs):
        if isinstance(output, Tensor) and output.requires_grad:
            blocks.append(_rows(tracked, i, meta_of(output), chunk_size, done))
        else:
            blocks.append([_zeros(tracked, kind, meta, _shape(output)) for kind, meta in tracked.live()])
    return blocks


def forward_blocks(tracked, pushforward, done=None):
    """As `reverse_blocks`, by columns: `pushforward(directions, create_graph=, keep_graph=)` gives one per output."""
    live = tracked.live()
    per_input = []
    for j, (_, meta) in enumerate(live):
        one = [[] for _ in tracked.outputs]
        imaginary = [[] for _ in tracked.outputs]
        for k in range(meta.size):
            for unit, columns in ((1.0, one), (1j, imaginary)):
                if unit == 1j and not meta.is_complex:
                    continue
                directions = [None] * len(live)
                directions[j] = _basis(meta, k, unit)
                found = pushforward(directions, create_graph=tracked.record, keep_graph=True)
                for column, tangent in zip(columns, found, strict=True):
                    column.append(tangent)
            if done is not None:
                done(1)
        per_input.append((one, imaginary))
    blocks = []
    for i, output in enumerate(tracked.outputs):
        row = []
        for (kind, meta), (one, imaginary) in zip(live, per_input, strict=True):
            if not (isinstance(output, Tensor) and output.requires_grad) or not one[i]:
                row.append(_zeros(tracked, kind, meta, _shape(output)))
                continue
            out_meta = meta_of(output)
            columns = [
                _column(tracked, out_meta, meta, one[i][k], imaginary[i][k] if meta.is_complex else None)
                for k in range(meta.size)
            ]
            row.append(give_back(kind, _join(columns, -1, out_meta.shape + meta.shape), None))
        blocks.append(row)
    return blocks


def in_structure(tracked, found):
    """The blocks of each result where the result is; None and text stay as they are."""
    blocks = [
        output if isinstance(output, type(None) | str | bytes) else tracked.nest(blocks)
        for output, blocks in zip(tracked.outputs, found, strict=True)
    ]
    return unflatten(tracked.out_structure, blocks)


def _rows(tracked, index, out_meta, chunk_size, done):
    live = tracked.live()
    blocks = _rows_together(tracked, index, out_meta, chunk_size, done)
    if blocks is not None:
        return blocks
    rows = [[] for _ in live]
    for k in range(out_meta.size):
        first = _pull(tracked, index, out_meta, k, 1.0)
        second = _pull(tracked, index, out_meta, k, 1j) if out_meta.is_complex else first
        for row, (_, meta), g, gi in zip(rows, live, first, second, strict=True):
            row.append(_row(tracked, out_meta, meta, g, gi))
        if done is not None:
            done(1)
    blocks = []
    for row, (kind, meta) in zip(rows, live, strict=True):
        if row:
            blocks.append(give_back(kind, _join(row, 0, out_meta.shape + meta.shape), None))
        else:
            blocks.append(_zeros(tracked, kind, meta, out_meta.shape))
    return blocks


def _rows_together(tracked, index, out_meta, chunk_size, done):
    """The blocks by batched runs; None where the runs are to be made one by one."""
    size = out_meta.size
    if tracked.record or size < 2 or chunk_size == 1 or out_meta.is_complex or not tracked.edges:
        return None
    from arraygrad.transforms.batched import Batch  # with the table's derived rules, which no gradient needs

    batch = Batch(tracked.outputs[index], tracked.edges, size if chunk_size is None else min(size, chunk_size))
    if not batch.possible:
        return None
    parts = []
    for start in range(0, size, batch.rows):
        stop = min(start + batch.rows, size)
        parts.append(batch.pull(start, stop))
        if parts[-1] is None:
            return None
        if done is not None:
            done(stop - start)
    blocks = []
    for (kind, meta), pieces in zip(tracked.live(), zip(*parts, strict=True), strict=True):
        if pieces[0] is None:
            blocks.append(_zeros(tracked, kind, meta, out_meta.shape))
        else:
            whole = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
            shape = out_meta.shape + meta.shape
            blocks.append(give_back(kind, whole if whole.shape == shape else whole.reshape(shape), None))
    return blocks


def _pull(tracked, index, out_meta, k, unit):
    found = tracked.pull((index,), [_basis(out_meta, k, unit)], create_graph=tracked.record, keep_graph=True)
    return [_filled(tracked, g, meta) for g, (_, meta) in zip(found, tracked.live(), strict=True)]


def _filled(tracked, g, meta):
    if g is not None:
        return g
    zeros = meta.ops.zeros(meta)
    return wrap_raw(zeros) if tracked.record else zeros


def _row(tracked, out_meta, meta, g, gi):
    """A row of the Jacobian from the gradients `g` and `gi` of a result element for cotangents 1 and i."""
    if not out_meta.is_complex:
        return g
    xp = _namespace(g)
    if not meta.is_complex:
        # The gradient of a real argument is the real part of conj(J) v: its real part for 1, its imaginary one for i.
        dtype = _complex_dtype(out_meta, meta)
        return xp.astype(g, dtype) + xp.astype(gi, dtype) * 1j
    # The gradient is conj(f_z) v + f_conj(z) conj(v).
    _check_holomorphic(tracked, (g - gi * 1j) / 2, (g + gi * 1j) / 2)
    return xp.conj((g - gi * 1j) / 2)


def _column(tracked, out_meta, meta, d, di):
    """A column of the Jacobian from the derivatives of the result along 1 and i times one element."""
    d = _filled(tracked, d, out_meta)
    if not meta.is_complex:
        return d
    di = _filled(tracked, di, out_meta)
    xp = _namespace(d)
    if not out_meta.is_complex:
        dtype = _complex_dtype(out_meta, meta)
        return xp.astype(d, dtype) + xp.astype(di, dtype) * 1j
    _check_holomorphic(tracked, (d - di * 1j) / 2, (d + di * 1j) / 2)
    return (d - di * 1j) / 2


def _check_holomorphic(tracked, by_z, by_conj):
    by_z, by_conj = (part.array if isinstance(part, Tensor) else part for part in (by_z, by_conj))
    xp = _namespace(by_z)
    size, other = (float(xp.max(xp.abs(part))) if part.size else 0.0 for part in (by_z, by_conj))
    epsilon = float(xp.finfo(by_z.dtype).eps)
    if other > HOLOMORPHIC_ULPS * epsilon * max(size, 1.0):
        raise ValueError(
            f"{tracked.name}: the function is not holomorphic (its derivative by the conjugate argument is "
            f"{other:.3g}), so a complex result has no complex Jacobian: differentiate its real and "
            "imaginary part separately"
        )


def _basis(meta, k, unit):
    """An array that is `unit` at element k (in row-major order) and zero elsewhere."""
    xp = meta.ops.xp
    if meta.ops.array_type is np.ndarray:
        vector = np.zeros(meta.size, meta.dtype)
        vector[k] = unit
        return vector.reshape(meta.shape)
    mask = xp.arange(meta.size, device=meta.device) == k
    vector = xp.astype(mask, meta.dtype)
    return xp.reshape(vector if unit == 1.0 else vector * unit, meta.shape)


def _join(parts, axis, shape):
    xp = _namespace(parts[0])
    return xp.reshape(xp.stack(parts, axis=axis), shape)


def _zeros(tracked, kind, meta, shape):
    xp = meta.ops.xp
    zeros = xp.zeros(tuple(shape) + meta.shape, dtype=meta.dtype, device=meta.device)
    return give_back(kind, wrap_raw(zeros) if tracked.record else zeros, None)


def _shape(output):
    return tuple(getattr(output, "shape", ()))


def _namespace(array):
    return array.__array_namespace__() if isinstance(array, Tensor) else meta_of(array).ops.xp


def _complex_dtype(a, b):
    return a.ops.xp.result_type(a.dtype, b.dtype)  # one of the two is complex
