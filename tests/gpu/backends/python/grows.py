# Keeps a block of memory more after every call, which torch's allocator has in store.
# expect: suite=python case="^plain" gates=numerics,memory status=ok verdict=regressed exit=1 verdict_reason="grow|call" check="row['memory']['growth_bytes'] >= 65536"
import by_definition
import torch


class Mutant(by_definition.Mutant):
    kept = []

    def call(self):
        self.kept.append(torch.empty(65536, dtype=torch.uint8, device=self.t.q.device))
        return super().call()
