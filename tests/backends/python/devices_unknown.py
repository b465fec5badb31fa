# Says that it is for a device that NumPy's arrays cannot lie on.
# expect: suite=plain status=failed reason="^cannot load the backend: ValueError: devices is \['cuda'\]; wanted is a list of: cpu$"
import by_definition


class Mutant(by_definition.Mutant):
    devices = ["cuda"]
