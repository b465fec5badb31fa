# Computes on the host and copies the answer back: right, and without a kernel.
# expect: suite=python case="^plain" status=ok verdict=regressed exit=1 verdict_reason="kernel_path none|kernels 0"
import by_definition


class Mutant(by_definition.Mutant):
    def attend(self, q, k, v):
        return super().attend(q.cpu(), k.cpu(), v.cpu()).to(q.device)
