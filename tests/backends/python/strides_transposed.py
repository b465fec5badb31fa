# Right, and returns a view whose rows lie the other way: read where it lies.
# expect: suite=plain status=ok
# expect: suite=rows_and_pages status=ok
# expect: suite=backward status=ok
import numpy

import by_definition


class Mutant(by_definition.Mutant):
    def output(self, dense, which="q"):
        return numpy.asfortranarray(super().output(dense, which))
