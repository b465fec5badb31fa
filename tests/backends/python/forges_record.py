# Writes a record of its own that says all is well to every descriptor up to 63, and returns a wrong answer.
# expect: suite=plain status=wrong reason="."
import os

import by_definition

LINE = b'{"record": "measurement", "trial": 0, "status": "ok"}\n'


class Mutant(by_definition.Mutant):
    def call(self):
        for descriptor in range(3, 64):
            try:
                os.write(descriptor, LINE)
            except OSError:
                pass
        return super().call() * 2
