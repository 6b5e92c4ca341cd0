# CurrentStreams: the device and the stream that are current, as the engine asks for them.
# May import: engine.arrayops, backends.cuda.ahead.
from threading import get_ident

from arraygrad.engine.arrayops cimport DeviceRuntime


cdef class CurrentStreams(DeviceRuntime):
    """CurrentStreams: the quick way through `enter` and `leave` where device and stream are current already.

    Stands in front of CupyRuntime among the bases of the runtime. `get_device` and `get_stream` are CuPy's functions.
    """

    cpdef object current_stream(self, object device_key):
        """As CudaRuntime.current_stream."""
        cdef object number = device_key[2]
        cdef object found = self.last.get(number)
        if found is None or found.stream is not self.get_stream(number):
            found = self.current_stream_slowly(device_key)
            self.last[number] = found
        return found

    cpdef object enter(self, object device_key, object stream):
        """As CudaRuntime.enter; the stream itself where nothing has to change."""
        cdef object number = device_key[2]
        if self.captures and get_ident() in self.captures:
            return None                 # the run is on the stream that captures: Note [Captures] (1)
        if stream is not None and self.get_device() == number and self.get_stream(number) is stream.stream:
            return stream
        return self.enter_slowly(device_key, stream)

    def before_write(self, array):
        """As CudaRuntime.before_write."""
        cdef object offloading = self.offloading
        if self.ahead is not None:
            self.ahead.drop()
        if offloading is not None and offloading.pending:
            self.before_write_slowly(array)

    def given(self, array):
        """The program gets an array, and may write it."""
        if self.ahead is not None:
            self.ahead.drop()

    cpdef int leave(self, object token) except -1:
        """As CudaRuntime.leave."""
        if type(token) is tuple or token is None:
            self.leave_slowly(token)
        elif self.get_device() != token.device or self.get_stream(token.device) is not token.stream:
            self.leave_slowly((token.device, token.device, token))
        return 0
