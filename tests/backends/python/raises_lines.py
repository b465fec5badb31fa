# Raises with a message of several lines: all of it is the reason.
# expect: suite=plain status=failed reason="^run: ValueError: no tile of 17 rows See the docs"
import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        raise ValueError("no tile of 17 rows\n\nSee the docs\r")
