# expect: suite=python case="^plain" status=failed reason="^run: ValueError: o lies on cpu; wanted is cuda:0$"
import by_definition


class Mutant(by_definition.Mutant):
    def output(self, o):
        return o.cpu()
