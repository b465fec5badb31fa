# Builds a mask of all scores before the first call: a call's own peak does not show it.
# expect: suite=prepare_slope gates=numerics,memory case=q1024[.] status=ok seconds=60 exit=1 check="row['memory']['prepare_source'] == 'resident' and 3 << 20 < row['memory']['prepare_peak_bytes'] < 8 << 20"
# expect: suite=prepare_slope gates=numerics,memory case=q2048[.] status=ok seconds=60 verdict=regressed exit=1 verdict_reason="^prepare_peak_bytes [0-9]+ at seq 1024, [0-9]+ at 2048: it grows with seq to the power (1[.][6-9]|2[.])[0-9]*, expected at most 1[.]2$"
# expect: suite=prepare_slope gates=numerics,memory backend=good status=ok seconds=60 exit=1 check="row['memory']['prepare_peak_bytes'] < 2 << 20"
import numpy

import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        self.mask = numpy.ones((p.seq_q, p.seq_kv), numpy.float32)
        return super().prepare(p, t)

    def scores(self, q, k):
        return super().scores(q, k) * self.mask
