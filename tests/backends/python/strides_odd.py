# Returns a field of records: its elements lie 6 bytes apart.
# expect: suite=plain status=failed reason="^run: ValueError: o has strides of .* bytes; wanted are multiples of 4$"
import by_definition
import numpy


class Mutant(by_definition.Mutant):
    def output(self, dense, which="q"):
        records = numpy.zeros(dense.shape, numpy.dtype({"names": ["value", "rest"], "formats": [numpy.float32, numpy.int16], "itemsize": 6}))
        records["value"] = dense
        return records["value"]
