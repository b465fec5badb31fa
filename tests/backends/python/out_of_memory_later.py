# Runs out of memory in a later call, which others before it did not.
# expect: suite=plain status=failed reason="^run: out of memory: Unable to allocate .*; 2 calls went well before: memory grows from call to call$"
import by_definition
import numpy


class Mutant(by_definition.Mutant):
    calls = 0

    def call(self):
        self.calls += 1
        numpy.empty(1 << (60 if self.calls > 2 else 10), numpy.uint8)
        return super().call()
