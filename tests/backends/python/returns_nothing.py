# Forgets the return.
# expect: suite=plain status=failed reason="^run: TypeError: o is of type NoneType; wanted is a NumPy array$"
import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        super().call()
