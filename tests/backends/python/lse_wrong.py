# Returns a log-sum-exp of the scores before they were scaled.
# expect: suite=backward status=wrong reason="lse"
import by_definition
import numpy


class Mutant(by_definition.Mutant):
    lse = True

    def call(self):
        scores = numpy.where(self.visible(), self.dense("q") @ self.of_group(self.dense("k")).swapaxes(-1, -2), -numpy.inf)
        most = scores.max(-1, keepdims=True)
        lse = (most + numpy.log(numpy.exp(scores - most).sum(-1, keepdims=True)))[..., 0]
        return {"o": super().call(), "lse": lse.astype(numpy.float32)}
