# Works in fp32 and casts back.
# expect: suite=python case="^plain" status=ok verdict=regressed exit=1 verdict_reason="kernels [2-9]|kernel_path"
import by_definition


class Mutant(by_definition.Mutant):
    def attend(self, q, k, v):
        return super().attend(q.float(), k.float(), v.float()).to(q.dtype)
