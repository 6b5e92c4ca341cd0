# May cimport: engine.arrayops, backends.cuda.ahead.
from arraygrad.backends.cuda.ahead cimport Ahead
from arraygrad.engine.arrayops cimport DeviceRuntime


cdef class CurrentStreams(DeviceRuntime):
    """CurrentStreams"""
    cdef public object get_device
    cdef public object get_stream
    cdef public dict last               # device -> its stream that was seen last, as the engine knows it
    cdef Ahead ahead                    # what was computed ahead, None: nothing ever is
