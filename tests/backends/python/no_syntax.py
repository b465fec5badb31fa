# Is no Python.
# expect: suite=plain status=failed reason="^cannot load the backend: SyntaxError: |cannot load the backend: File .*SyntaxError"
class Mutant
    pass
