# Ends the process without a word.
# expect: suite=plain status=crashed reason="exit code 3 in phase bare"
import os

import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        os._exit(3)
