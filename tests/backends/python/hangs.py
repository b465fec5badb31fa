# Never returns.
# expect: suite=plain status=timed_out seconds=12 reason="within 2 s in phase bare"
import time

import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        while True:
            time.sleep(1)
