# Right, and returns a view whose rows lie the other way: read where it lies.
# expect: suite=plain status=ok
# expect: suite=rows_and_pages status=ok
import numpy

import by_definition


class Mutant(by_definition.Mutant):
    def output(self, dense):
        rows = super().output(dense)
        return numpy.asfortranarray(rows)
