# Is given an option and reads it.
# expect: suite=options status=failed reason="^open: ValueError: no tile of 64 rows"
import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        raise ValueError(f"no tile of {p.options['tile']} rows")
