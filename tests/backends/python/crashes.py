# Reads address 8.
# expect: suite=plain status=crashed reason="SIGSEGV.*in phase bare"
import ctypes

import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        return ctypes.string_at(8)
