# Answers every call with its first answer.
# expect: suite=python case="^plain" status=wrong reason="other inputs"
import by_definition


class Mutant(by_definition.Mutant):
    answer = None

    def call(self):
        if self.answer is None:
            self.answer = super().call()
        return self.answer
