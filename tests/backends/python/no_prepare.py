# Has no prepare.
# expect: suite=plain status=failed reason="^open: AttributeError: 'Mutant' object has no attribute 'prepare'"
class Mutant:
    def supports(self, p):
        return None
