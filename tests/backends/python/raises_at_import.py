# Needs a module that its interpreter does not have: the reason names both, and what to do.
# expect: suite=plain status=unsupported output="^Traceback .*ModuleNotFoundError" reason="^cannot load the backend: ModuleNotFoundError: No module named 'flash_attn_of_nobody' \(mutant.py:3 in <module>\); /.* has no flash_attn_of_nobody: install flash_attn_of_nobody there, or name another Python"
import flash_attn_of_nobody  # noqa: F401
