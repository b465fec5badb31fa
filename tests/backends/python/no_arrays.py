# Its interpreter has neither torch nor NumPy, as far as one can see. Neither is a mistake of the suite's; the reason says what to do.
# expect: suite=plain status=unsupported reason="has no torch and no numpy: install one there, or name another Python .--python, `interpreter:`"
import importlib.util

importlib.util.find_spec = lambda name: None


class Mutant:
    pass
