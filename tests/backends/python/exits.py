# Ends the interpreter in the call.
# expect: suite=plain status=failed reason="^run: SystemExit: 3"
import sys

import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        sys.exit(3)
