# An index out of bounds: the device asserts, and the process is lost to CUDA.
# expect: suite=python case="^(?!backward)" status="failed|crashed"
# The passes that do not come by it are measured in a process of their own.
# expect: suite=python case="^backward" status=ok exit=1
import by_definition
import torch


class Mutant(by_definition.Mutant):
    def call(self):
        q = self.t.q
        q.new_zeros(4)[torch.full((1,), 9, device=q.device)]
        return super().call()
