# Asks for more memory than there is: a limit of its own, and no fault.
# expect: suite=plain status=unsupported reason="^out of memory: Unable to allocate .*; take a smaller case, or a device with more memory$"
import numpy


class Mutant:
    def prepare(self, p, t):
        scores = numpy.empty(1 << 60, numpy.uint8)
        return lambda: scores
