# Returns a log-sum-exp that its class says nothing of, and that nobody would look at.
# expect: suite=plain status=failed reason="^run: ValueError: the call returned o, lse; wanted are o; of `lse` the class says `lse = True`$"
import by_definition
import numpy


class Mutant(by_definition.Mutant):
    def call(self):
        return {"o": super().call(), "lse": numpy.full((3, 3), numpy.nan)}
