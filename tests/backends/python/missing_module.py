# Imports what its interpreter does not have.
# expect: suite=plain status=unsupported reason="No module named 'flush_attention'.*has no flush_attention: install flush_attention there, or name another Python"
import flush_attention


class Mutant:
    prepare = flush_attention.prepare
