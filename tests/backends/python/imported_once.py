# Counts how often it is imported in a run: once, whatever the number of workers. Each block of calls has a process of its own all the same.
# expect: suite=plain gates=latency,numerics status=ok seconds=90 check="len(row['blocks']) >= 2"
import os

import by_definition

os.close(os.open(os.path.join(os.path.dirname(__file__), "imported"), os.O_CREAT | os.O_EXCL))  # fails the second time


class Mutant(by_definition.Mutant):
    processes = []

    def prepare(self, p, t):
        self.processes.append(os.getpid())
        if len(self.processes) > 1 or os.getpid() != self.processes[0]:
            raise RuntimeError(f"prepared in {self.processes}, now in {os.getpid()}")
        return super().prepare(p, t)
