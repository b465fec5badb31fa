# Divides by the sum of no weight: NaN in a row that sees no key.
# expect: suite=dead_rows case=zero status=wrong reason="dead rows nan instead of zero"
# expect: suite=dead_rows case=nan status=ok exit=1
# edges: ^dead => dead rows nan instead of zero
import numpy

import by_definition


class Mutant(by_definition.Mutant):
    def dead_weights(self):
        return numpy.float32(numpy.nan)
