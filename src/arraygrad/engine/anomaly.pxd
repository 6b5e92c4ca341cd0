# May cimport: engine.arrayops, engine.node.
from arraygrad.engine.arrayops cimport ArrayOps
from arraygrad.engine.node cimport Frame, Node

cdef enum AnomalyFlag:
    ANOMALY_ON = 1
    ANOMALY_CHECK_NAN = 2

cdef int anomaly_flags() except -1
cdef int check_nan(ArrayOps graph_ops, Node node, Frame f) except -1
cdef list describe_failure(Node node)
cdef int issue_notes(list notes, object error) except -1
