# Keeps a block of memory more after every call.
# expect: suite=memory gates=numerics,memory status=ok verdict=regressed exit=1 verdict_reason="grow|call" check="row['memory']['growth_bytes'] >= 65536"
import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        self.blocks = []
        return super().prepare(p, t)

    def call(self):
        self.blocks.append(bytearray(b"x" * 65536))
        return super().call()
