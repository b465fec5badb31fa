# Leaves a cycle of objects behind in every call; Python collects them, and memory does not grow.
# expect: suite=memory gates=numerics,memory status=ok
import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        cycle = [bytearray(65536)]
        cycle.append(cycle)
        return super().call()
