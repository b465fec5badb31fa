# Runs out of memory and does not say how much it wanted: a limit of its own where all of the machine's memory was free, else one of this hour.
# expect: suite=plain status=unsupported|cannot_measure exit=0|5 reason="^out of memory: MemoryError; (take a smaller case|\d+ MiB of \d+ MiB were free on this machine)" check="('were free' in row['reason']) == (row['status'] == 'cannot_measure')"


class Mutant:
    def prepare(self, p, t):
        raise MemoryError
