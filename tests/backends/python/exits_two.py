# Ends its process with the very code that a worker ends with to be renewed.
# expect: suite=plain status=crashed reason="exit code 2"
import os

import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        os._exit(2)
