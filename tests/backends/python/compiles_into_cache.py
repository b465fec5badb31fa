# Compiles for two seconds where a file does not say that it has before, and for half a second more in its first call: no steady time shows it, and finding the
# file the next time is no improvement and no regression of anything.
# expect: suite=time gates=numerics,latency status=ok seconds=60 check="row['blocks'][0]['plan_ns'] > 2e9 and row['blocks'][0]['first_ns'] > 5e8 and max(block['plan_ns'] for block in row['blocks'][1:]) < 1e9 and 4e6 < times['device_ns'] < 2e8"
# expect: suite=time how=again gates=numerics,latency status=ok verdict=pass|improved|undecided|environment_shift exit=0|5 seconds=60 check="max(block['plan_ns'] for block in row['blocks']) < 1e9 and max(block['first_ns'] for block in row['blocks']) < 4e8 and 4e6 < times['device_ns'] < 2e8"
import os
import pathlib
import time

import by_definition


class Mutant(by_definition.Mutant):
    def prepare(self, p, t):
        self.compiled = pathlib.Path(os.environ["ATTN_TEST_FOLDER"], "compiled")
        self.stall = 0 if self.compiled.exists() else 0.5
        if self.stall:
            time.sleep(2)
            self.compiled.touch()
        return super().prepare(p, t)

    def call(self):
        time.sleep(self.stall + 0.005)
        self.stall = 0
        return super().call()
