# Sleeps a millisecond before it launches: the device's time says nothing of it.
# expect: suite=python case="^plain" gates=latency,numerics status=ok check="times['host_ns'] > 1e6 and times['device_ns'] < 1e5"
import time

import by_definition


class Mutant(by_definition.Mutant):
    def call(self):
        time.sleep(0.001)
        return super().call()
