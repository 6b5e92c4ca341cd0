# May cimport: nothing.

cdef class Structure:
    cdef readonly str kind
    cdef readonly object type
    cdef readonly tuple keys
    cdef readonly tuple children
    cdef readonly object original
    cdef readonly Py_ssize_t n_leaves       # number of leaves
    cdef bint flat                          # a list or tuple of leaves alone

cdef Structure leaf_structure

cdef Structure flatten_into(object tree, list leaves)
cdef object unflatten_from(Structure structure, list leaves, Py_ssize_t* at)
