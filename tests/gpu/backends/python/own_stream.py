# Works on a stream of its own that nobody waits for.
# expect: suite=python case="^plain" status=wrong
import by_definition
import torch


class Mutant(by_definition.Mutant):
    def call(self):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(20_000_000)  # of clock cycles
            return super().call()
