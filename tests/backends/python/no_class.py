# Holds no class of the name.
# expect: suite=plain status=failed reason="^cannot load the backend: AttributeError: module 'mutant' has no attribute 'Mutant'"
class Mutants:
    pass
