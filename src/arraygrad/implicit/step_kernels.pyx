# distutils: language = c++
# What the adjoint does with the small matrices of many steps: loops that take less than the calls of NumPy for them.
# May import: numpy (Python only), backends.numpy.ndarrays, backends.numpy.loops. Arrays are of float64, in C's order.
# Guarded by tests/implicit/test_step_kernels.py.
from libc.math cimport NAN, fabs, fmax, fmin, pow, sqrt
from libc.stdint cimport int64_t
from libcpp.vector cimport vector

import numpy as np

from arraygrad.backends.numpy.ndarrays cimport ArrayView, positions_of, view_of
from arraygrad.backends.numpy.loops cimport SLOT_F64

cdef double TINY = 1e-300


cdef double* numbers(object array, Py_ssize_t size) except NULL:
    """The memory of an array of so many numbers."""
    cdef ArrayView v
    if view_of(array, &v) != SLOT_F64 or not v.c_order or v.size != size:
        raise TypeError("not an array of so many float64 in C's order")
    return <double*>v.data


cdef object floats(object array):
    return np.ascontiguousarray(array, dtype=np.float64)


cdef bint solve(double* system, double* z, Py_ssize_t size) noexcept:
    """system (size, size) z = z, by Gauss' elimination with pivots; both are overwritten. Whether no pivot is zero.

    As LAPACK's, a system with nan has a solution of nan.
    """
    cdef Py_ssize_t i, j, k, pivot
    cdef double factor, most
    cdef double *row
    cdef double *top
    for k in range(size):
        pivot, most = k, fabs(system[k * size + k])
        for i in range(k + 1, size):
            if fabs(system[i * size + k]) > most:
                pivot, most = i, fabs(system[i * size + k])
        if most == 0.0:
            return False
        top = system + k * size
        if pivot != k:
            row = system + pivot * size
            for j in range(k, size):
                row[j], top[j] = top[j], row[j]
            z[k], z[pivot] = z[pivot], z[k]
        for i in range(k + 1, size):
            row = system + i * size
            factor = row[k] / top[k]
            if factor == 0.0:
                continue
            for j in range(k + 1, size):
                row[j] -= factor * top[j]
            z[i] -= factor * z[k]
    for k in range(size - 1, -1, -1):
        row = system + k * size
        factor = z[k]
        for j in range(k + 1, size):
            factor -= row[j] * z[j]
        z[k] = factor / row[k]
    return True


def carried(a, b, bint implicit, h, jac, after, by_state, by_stages):
    """What many_steps.carried says, for a method with a (stages, stages) within a step and b (stages,) at its end.

    `implicit`: a stage may depend on later ones.
    """
    cdef Py_ssize_t m = len(h), count = len(b), n = len(after), k, i, j, r, c
    a, b, h, jac, by_state, by_stages = map(floats, (a, b, h, jac, by_state, by_stages))
    found, p_array = np.empty((m, count, n)), np.array(after, dtype=float)
    cdef double* weights = numbers(a, count * count)
    cdef double* ends = numbers(b, count)
    cdef double* lengths = numbers(h, m)
    cdef double* matrices = numbers(jac, m * count * n * n)
    cdef double* added = numbers(by_state, m * n)
    cdef double* of_stages = numbers(by_stages, m * count * n)
    cdef double* out = numbers(found, m * count * n)
    cdef double* p = numbers(p_array, n)
    cdef vector[double] space
    cdef double* system
    cdef double* z
    cdef double* own
    cdef double factor, length
    cdef Py_ssize_t size = count * n
    if implicit:
        space.resize(size * size)
    for k in range(m - 1, -1, -1):
        length, own, z = lengths[k], matrices + k * count * n * n, out + k * size
        for i in range(count):
            for r in range(n):
                z[i * n + r] = ends[i] * p[r] + of_stages[k * size + i * n + r]
        if implicit:
            system = space.data()
            for i in range(count):
                for r in range(n):
                    for j in range(count):
                        factor = -length * weights[j * count + i]
                        for c in range(n):
                            system[(i * n + r) * size + j * n + c] = factor * own[(j * n + c) * n + r]
                    system[(i * n + r) * (size + 1)] += 1.0
            if not solve(system, z, size):
                raise np.linalg.LinAlgError("Singular matrix")
        else:
            for i in range(count - 1, 0, -1):
                for r in range(n):
                    factor = 0.0
                    for c in range(n):
                        factor += own[(i * n + c) * n + r] * z[i * n + c]
                    factor *= length
                    for j in range(i):
                        z[j * n + r] += weights[i * count + j] * factor
        for r in range(n):
            factor = 0.0
            for i in range(count):
                for c in range(n):
                    factor += own[(i * n + c) * n + r] * z[i * n + c]
            p[r] += added[k * n + r] + length * factor
        for i in range(size):
            z[i] *= length
    return p_array, found


cdef inline double tail(double* tops, double* values, Py_ssize_t count, Py_ssize_t step, double falls) noexcept:
    """About how large the first coefficients are that a polynomial through values at its nodes leaves out.

    By how its last two (Legendre's) are smaller than those before. Single ones may vanish, as those of even functions.
    """
    cdef double found[4]
    cdef Py_ssize_t i, j
    for i in range(4):
        found[i] = 0.0
        for j in range(count):
            found[i] += tops[i * count + j] * values[j * step]
    cdef double before = fmax(fabs(found[0]), fabs(found[1])), last = fmax(fabs(found[2]), fabs(found[3]))
    return last * fmin(fmax(last / (before + TINY), falls), 1.0)


def errors(tops, double of_next, double falls, h, jac, matrix):
    """About how far derivatives are off by each of m steps, relative to the largest: Note [Collocated adjoint], 2.

    Parameters
    ----------
    tops : numpy.ndarray (4, stages)
        Give the last four coefficients, by Legendre's, of the polynomial through values at the stages.
    of_next, falls : float
        The first coefficient that is left out of an exponential function, times the power `stages` of a fourth of its
        exponent; how much less of a function the coefficients that are left out have, at the least.
    h, jac : numpy.ndarray (m,), (m, stages, n, n)
    matrix : numpy.ndarray (n, m * stages, numbers), or None
        Derivatives by parameters.

    Returns
    -------
    numpy.ndarray (m,), nan where values are not finite
    """
    cdef Py_ssize_t m = jac.shape[0], count = jac.shape[1], n = jac.shape[2], k, i, j, r, c, width = 0
    tops, h, jac = floats(tops), floats(h), floats(jac)
    found = np.empty(m)
    cdef double* weights = numbers(tops, 4 * count)
    cdef double* lengths = numbers(h, m)
    cdef double* own = numbers(jac, m * count * n * n)
    cdef double* out = numbers(found, m)
    cdef double* columns = NULL
    cdef vector[double] sizes
    cdef double most, one, square, length, sum_of_all
    if matrix is not None:
        matrix = floats(matrix)
        width = matrix.shape[2]
        columns = numbers(matrix, n * m * count * width)
        sizes.resize(width)
        for c in range(width):
            for r in range(n):
                one = 0.0
                for k in range(m):
                    for j in range(count):
                        one += lengths[k] * fabs(columns[((r * m + k) * count + j) * width + c])
                sizes[c] = fmax(sizes[c], fabs(one) / count)
    for k in range(m):
        length, most, sum_of_all = lengths[k], 0.0, 0.0
        for j in range(count):
            square = 0.0
            for r in range(n):
                for c in range(n):
                    one = 0.0
                    for i in range(n):
                        one += own[(j * n + r) * n + i] * own[(j * n + i) * n + c]
                    square += one * one
            sum_of_all += square
            most = fmax(most, square)
        one, square = 0.25 * fabs(length) * sqrt(sqrt(most)), of_next
        square *= pow(one, count)
        most = 0.0
        for i in range(n * n):
            one = tail(weights, own + i, count, n * n, falls)
            sum_of_all += one
            most = fmax(most, one)
        own += count * n * n
        square += fabs(length) * most
        most = 0.0
        for c in range(width):
            for r in range(n):
                one = tail(weights, columns + (r * m + k) * count * width + c, count, width, falls)
                one *= m * fabs(length) / (sizes[c] + TINY)
                sum_of_all += one
                most = fmax(most, one)
        out[k] = square + most if sum_of_all - sum_of_all == 0.0 else NAN
    return found


def stencils(t):
    """(steps, 4): which points t (m,), in order, are interpolated in each step.

    The ends of the step, and a point on each side, or two on one. They are half of the step apart or more. What lies
    closer, as where a solver starts with tiny steps, would tell higher derivatives by differences of what is lost in
    rounding and iterations. Empty where there are too few.
    """
    cdef Py_ssize_t m = len(t), k, before, behind, after, beyond, first
    cdef double* at = numbers(t, m)
    cdef double way = 1.0 if m and at[m - 1] >= at[0] else -1.0
    cdef double half
    empty = np.empty((0, 4), dtype=np.int64)
    if m < 4:
        return empty
    found = np.empty((m - 1, 4), dtype=np.int64)
    cdef int64_t* row = <int64_t*>positions_of(found, &k)
    for k in range(m - 1):
        half = 0.5 * way * (at[k + 1] - at[k])
        before, after = k, k + 1
        while before >= 0 and way * at[before] > way * at[k] - half:
            before -= 1
        while after < m and way * at[after] < way * at[k + 1] + half:
            after += 1
        beyond, behind, first = after, before, before
        if before < 0:
            while beyond < m and way * at[beyond] < way * at[min(after, m - 1)] + half:
                beyond += 1
            before = beyond
        if after >= m:
            while behind >= 0 and way * at[behind] > way * at[max(first, 0)] - half:
                behind -= 1
            after = behind
        if not (0 <= before < m and 0 <= after < m) or before == after:
            return empty
        row[0], row[1], row[2], row[3] = before, k, k + 1, after
        row += 4
    return found


def interpolated(times, t, y, slopes, stencils):
    """Values (k, n) at times (k,) of Hermite's polynomials through values and slopes (m, n) at four points t (m,) each.

    `stencils` (m - 1, 4): which points, for each step between two of them.
    """
    cdef Py_ssize_t count = len(times), m = len(t), n = y.shape[1], size, i, j, k, r, low
    found = np.zeros((count, n))
    cdef const int64_t* places = positions_of(stencils.reshape(-1), &size)
    cdef double* wanted = numbers(times, count)
    cdef double* at = numbers(t, m)
    cdef double* values = numbers(y, m * n)
    cdef double* rates = numbers(slopes, m * n)
    cdef double* out = numbers(found, count * n)
    cdef double way = 1.0 if at[m - 1] >= at[0] else -1.0
    cdef double shape, rate, between, by_value, by_slope
    cdef const int64_t* stencil
    if places == NULL or size != 4 * (m - 1):
        raise TypeError("stencils are no array of int64")
    low = 0
    for k in range(count):
        if low and way * wanted[k] < way * at[low]:
            low = 0
        while low < m - 2 and way * at[low + 1] < way * wanted[k]:
            low += 1
        stencil = places + 4 * low
        for i in range(4):
            # Lagrange's polynomial there, and its slope at its point: products over the other three.
            shape, rate = 1.0, 0.0
            for j in range(4):
                if i != j:
                    between = 1.0 / (at[stencil[i]] - at[stencil[j]])
                    rate += between
                    shape *= between * (wanted[k] - at[stencil[j]])
            by_slope = (wanted[k] - at[stencil[i]]) * shape * shape
            by_value = shape * shape - 2.0 * rate * by_slope
            for r in range(n):
                out[k * n + r] += by_value * values[stencil[i] * n + r] + by_slope * rates[stencil[i] * n + r]
    return found
