# Says why not, with an attack in the text.
# expect: suite=plain status=unsupported reason="FORGED"
class Mutant:
    def supports(self, p):
        return "\x1b]0;FORGED\x07\n::error::FORGED <script>alert(1)</script> ]]> \udcff"
