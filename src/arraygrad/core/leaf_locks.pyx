# The lock of a leaf, held while a gradient is added to its `.grad`.
# May import: engine.free_threading, core.value.
import os
import weakref
from _thread import RLock         # threading would be imported for it alone

cimport cython
from cpython.object cimport PyObject

from arraygrad.engine.free_threading cimport Section
from arraygrad.core.value cimport Extra, TensorBase, need_extra

_leaf_locks = weakref.WeakSet()         # for a forked child: a thread that it does not have may hold one


def _after_fork_in_child():
    for lock in list(_leaf_locks):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


cdef object leaf_lock(TensorBase leaf):
    # One lock per leaf, whichever AccumulateGrad node it has at the moment.
    cdef Extra e = need_extra(leaf)
    cdef object lock, made
    cdef Section section
    section.begin(<PyObject*>e)
    lock = e.lock
    section.end()
    if lock is None:
        made = RLock()        # a finaliser that runs backward may come back here
        _leaf_locks.add(made)
        # Making it runs Python code, which may have let another thread in: the first lock counts, for everybody.
        with cython.critical_section(e):
            if e.lock is None:
                e.lock = made
            lock = e.lock
    return lock
