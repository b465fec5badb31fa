# Computes and returns fp32 whatever the inputs are: a copy of twice the bytes that nobody asked for.
# expect: suite=dtypes case=:fp16/ status=failed reason="^run: TypeError: o is float32; wanted is float16$" exit=1
# expect: suite=dtypes case=:fp32/ status=ok exit=1
import by_definition


class Mutant(by_definition.Mutant):
    def output(self, dense, which="q"):
        return dense
