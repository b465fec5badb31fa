# expect: suite=python case="^aligned" status=wrong reason="top_left|top left|alignment"
import by_definition


class Mutant(by_definition.Mutant):
    def offset(self):
        return 0
