# May cimport: engine.arrayops.
from arraygrad.engine.arrayops cimport GradMeta

cdef object at_mask(object x, object mask)
cdef object spread_by_mask(object g, object mask, GradMeta meta)
