# Needs a module that is not there.
# expect: suite=plain status=unsupported reason="^cannot load the backend: ModuleNotFoundError: No module named 'flash_attn_of_nobody' \(mutant.py:3 in <module>\)$"
import flash_attn_of_nobody  # noqa: F401
