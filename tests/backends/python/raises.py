# Raises in the call. The reason names the user's line, the traceback is in what was printed.
# expect: suite=plain status=failed reason="^run: ValueError: no tile of 17 rows \(mutant.py:10 in tile\)$" output="Traceback.*in call.*no tile of 17 rows"
# expect: suite=two_cases status=failed
import by_definition


class Mutant(by_definition.Mutant):
    @staticmethod
    def tile():
        raise ValueError("no tile of 17 rows")

    def call(self):
        return self.tile()
