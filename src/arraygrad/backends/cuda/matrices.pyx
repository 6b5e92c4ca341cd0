# CudaMatrices: products of CuPy's arrays and their gradients, by cuBLAS, from matrices as they lie.
# May import: engine.arrayops, core.value, backends.cuda.prepared. Products comes from backends/cuda/products.py.
from libc.stdint cimport uint64_t

from threading import get_ident

from arraygrad.core.value cimport Backend
from arraygrad.engine.arrayops cimport GradMeta


cdef class CudaMatrices(Backend):
    """CudaMatrices: what products of matrices are made with."""

    cdef int letter(self, object dtype) except -1:
        """The letter of a dtype that kernels know, 0: they do not."""
        cdef object found = self.codes.get(id(dtype))
        return 0 if found is None else <int>found

    cdef bint are_matrices(self, object a, object b) except -1:
        """Whether two arrays are matrices of one inexact dtype, not empty, on this device."""
        cdef int device
        if type(a) is not self.array_type or type(b) is not self.array_type or a.dtype is not b.dtype:
            return False
        if self.letter(a.dtype) == 0 or a.ndim != 2 or b.ndim != 2 or not a.size or not b.size:
            return False
        device = self.launcher.current_device()
        return a.data.device_id == device and b.data.device_id == device

    cdef object product(self, object a, bint transposes_a, object b, bint transposes_b, tuple shape):
        """The product of two matrices, each as it is or transposed, in a shape (None: its own). No transpose is made.
        """
        cdef object found = None
        cdef bint captures = bool(self.runtime.captures) and get_ident() in self.runtime.captures
        if not captures and self.gemm.serves and self.prepared:
            found = self.multiplied(a, transposes_a, b, transposes_b, shape)
            if found is not None:
                return found
        if transposes_a:
            a = a.T
        if transposes_b:
            b = b.T
        if captures:                    # CuPy calls no cuBLAS then
            found = self.products.matmul(a, b)
        found = a.dot(b) if found is None else found
        return found if shape is None else found.reshape(shape)

    cdef object multiplied(self, object a, bint transposes_a, object b, bint transposes_b, tuple shape):
        """The same by cuBLAS, with what CuPy's `dot` would tell it; None: it has to copy something, or to complain.

        cuBLAS reads matrices column by column. A row-major matrix is the transpose of what it reads, so it is asked for
        the transpose of the product: b^T a^T.
        """
        cdef tuple first = a.shape
        cdef tuple second = b.shape
        cdef Py_ssize_t rows, depth, columns, step_a, step_b
        cdef bint row_major_a = self.launcher.contiguous(a)
        cdef bint row_major_b = self.launcher.contiguous(b)
        cdef object out
        if not row_major_a and not a.flags.f_contiguous or not row_major_b and not b.flags.f_contiguous:
            return None
        rows, depth = first[1 if transposes_a else 0], first[0 if transposes_a else 1]
        columns = second[0 if transposes_b else 1]
        if second[1 if transposes_b else 0] != depth or rows == 1 and columns == 1:
            return None                 # `dot` says what is wrong, and has a kernel for two vectors
        if max(rows, depth, columns) > 0x7fffffff:
            return None
        step_a = first[1 if row_major_a else 0]
        step_b = second[1 if row_major_b else 0]
        out = self.launcher.empty((rows, columns) if shape is None else shape, a.dtype)
        if not self.gemm.multiply(self.launcher.current_device(), a.dtype, <char>self.letter(a.dtype),
                                  row_major_b == transposes_b, row_major_a == transposes_a, <int>columns, <int>rows,
                                  <int>depth, b, <int>step_b, a, <int>step_a, out, <int>columns):
            return None
        return out

    cdef object stacks(self, object a, object b):
        """The product of two stacks of which one is transposed, which CuPy would copy; None: declined."""
        if type(a) is not self.array_type or type(b) is not self.array_type or a.ndim < 3:
            return None
        if self.launcher.contiguous(a) and self.launcher.contiguous(b):
            return None
        if a.shape[a.ndim - 1] != b.shape[b.ndim - 2] if b.ndim > 1 else True:
            return None
        if self.runtime.captures and get_ident() in self.runtime.captures or not self.products.fits(a, b):
            return None
        return self.products.batched(a, False, b, False)

    cdef list product_rules(self, object g, uint64_t wanted, list saved):
        """The gradients of a product of matrices, by products that read the other matrix transposed; None: declined.

        A stack of matrices times one matrix is a product of matrices too, of all rows of the stack.
        """
        cdef object a = None
        cdef object b = None
        cdef object first = None
        cdef object second = None
        cdef GradMeta meta
        cdef tuple shape
        # saved: x2, metadata of x1, x1, metadata of x2 (ops/_products.py); None where no wanted rule asks
        if self.letter(g.dtype) == 0 or g.dtype.kind == "c":
            return None
        if wanted & 1:
            b = saved[0]
            meta = <GradMeta>saved[1]
            shape = meta.shape_tuple()
            if type(b) is not self.array_type or len(shape) < 2:
                return None
            if b.ndim > 2:
                return self.stack_rules(g, wanted, saved)
            if b.ndim != 2:
                return None
        if wanted & 2:
            a = saved[2]
            if (<GradMeta>saved[3]).ndim > 2:
                return self.stack_rules(g, wanted, saved)
            if type(a) is not self.array_type or a.ndim < 2 or (<GradMeta>saved[3]).ndim != 2:
                return None
            if a.ndim > 2:
                if not self.launcher.contiguous(a):
                    return None
                a = a.reshape(-1, a.shape[a.ndim - 1])
        if g.ndim > 2:
            if not self.launcher.contiguous(g):
                return None
            g = g.reshape(-1, g.shape[g.ndim - 1])
        if g.ndim != 2 or b is not None and not self.are_matrices(g, b):
            return None
        if a is not None and not self.are_matrices(a, g):
            return None
        if b is not None:
            first = self.product(g, False, b, True, shape if len(shape) > 2 else None)
        if a is not None:
            second = self.product(a, True, g, False, None)
        return [first, second]

    cdef list stack_rules(self, object g, uint64_t wanted, list saved):
        """The same for two stacks of as many matrices; None: declined."""
        cdef object first = None
        cdef object second = None
        if self.runtime.captures and get_ident() in self.runtime.captures:
            return None
        if wanted & 1 and not self.products.fits(g, saved[0]) or wanted & 2 and not self.products.fits(saved[2], g):
            return None
        if wanted & 1:
            first = self.products.batched(g, False, saved[0], True)
        if wanted & 2:
            second = self.products.batched(saved[2], True, g, False)
        return [first, second]
