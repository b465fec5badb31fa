# Is no Python.
# expect: suite=plain status=failed reason="^cannot load the backend: SyntaxError: "
class Mutant
    pass
