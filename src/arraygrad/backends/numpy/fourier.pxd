# May cimport: engine.node.
from arraygrad.engine.node cimport Frame, Node

cdef object forward_fft(object args)
cdef object forward_fftn(object args)
cdef object forward_fftshift(object args)
cdef object forward_hfft(object args)
cdef object forward_ifft(object args)
cdef object forward_ifftn(object args)
cdef object forward_ifftshift(object args)
cdef object forward_ihfft(object args)
cdef object forward_irfft(object args)
cdef object forward_irfftn(object args)
cdef object forward_rfft(object args)
cdef object forward_rfftn(object args)
cdef int rule_fft(Node node, Frame f) except -1
cdef int rule_fftn(Node node, Frame f) except -1
cdef int rule_fftshift(Node node, Frame f) except -1
cdef int rule_hfft(Node node, Frame f) except -1
cdef int rule_ifft(Node node, Frame f) except -1
cdef int rule_ifftn(Node node, Frame f) except -1
cdef int rule_ifftshift(Node node, Frame f) except -1
cdef int rule_ihfft(Node node, Frame f) except -1
cdef int rule_irfft(Node node, Frame f) except -1
cdef int rule_irfftn(Node node, Frame f) except -1
cdef int rule_rfft(Node node, Frame f) except -1
cdef int rule_rfftn(Node node, Frame f) except -1
