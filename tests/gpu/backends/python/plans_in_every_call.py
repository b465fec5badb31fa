# Plans 40 ms in every call; only the first may.
# expect: suite=python case="^plain" gates=latency,numerics status=ok check="times['first_ns'] > 4e7 and times['second_ns'] > 4e7 and times['device_ns'] < 1e5"
import time

import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        time.sleep(0.04)
        return super().call()
