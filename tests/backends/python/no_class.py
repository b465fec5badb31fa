# Holds no class of the name. A file that is not there is a mistake of the same kind.
# expect: suite=no_file status=failed reason="absent[.]py is no regular file"
# expect: suite=plain status=failed reason="^cannot load the backend: AttributeError: mutant.py defines no Mutant; it defines: Mutants"
class Mutants:
    pass
