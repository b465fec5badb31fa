# Keeps the answer to its first call and gives it for ever.
# expect: suite=plain status=wrong reason="cached answer"
# edges: ^formats => cached answer
import by_definition


class Mutant(by_definition.Mutant):
    answer = None

    def call(self):
        if self.answer is None:
            self.answer = super().call()
        return self.answer
