# Says True where the reason why not is asked for.
# expect: suite=plain status=failed reason="^supports: TypeError: supports returned bool; wanted is None, or the reason why not"
import by_definition


class Mutant(by_definition.Mutant):
    def supports(self, p):
        return True
