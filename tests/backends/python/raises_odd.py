# Raises what cannot be printed, after it has closed stderr.
# expect: suite=plain status=failed reason="^run: an exception of type Odd that cannot be printed$"
import sys

import by_definition


class Name(type):
    @property
    def __module__(cls):
        raise ValueError("no module")


class Odd(Exception, metaclass=Name):
    def __str__(self):
        raise ValueError("no text")


class Mutant(by_definition.Mutant):
    def call(self):
        sys.stderr.close()
        raise Odd
