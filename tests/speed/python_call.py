"""What the harness adds on a GPU to the host time of a call into Python: functions that return at once a tensor that they made before.

    python_call.py PROGRAM [--python INTERPRETER]

`same` returns one tensor for ever, `other` one of two by turns. Of what is printed some 0.05 us are the function's own.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SUITE = """version: 1
suite: call
cases: [{name: tiny, batch: 1, heads: 1, seq: 16, head_dim: 8, dtype: fp32}]
backends: [{name: same, python: call.py:Same}, {name: other, python: call.py:Other}]
"""
CALL = '''
class Same:
    def prepare(self, p, t):
        answer = t.v.clone()
        return lambda: answer


class Other:
    def prepare(self, p, t):
        answers = [t.v.clone(), t.v.clone()]
        def call():
            answers.reverse()
            return answers[0]
        return call
'''

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("program")
parser.add_argument("--python", default=sys.executable)
options = parser.parse_args()
with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "call.yaml").write_text(SUITE)
    (folder / "call.py").write_text(CALL)
    # Numerics would be wrong, and are not looked at.
    done = subprocess.run([options.program, "run", folder / "call.yaml", "--device", "cuda", "--python", options.python, "--gates", "latency",
                           "--db", folder / "call.db", "--json", folder / "call.json"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not (folder / "call.json").exists():
        sys.exit(done.stdout)
    for row in json.loads((folder / "call.json").read_text())["rows"]:
        if row["control"]:
            continue
        if row["status"] != "ok":
            sys.exit(f"{row['backend']}: {row['status']}: {row['reason']}\n{row['output']}")
        print(f"{row['backend']}: {row['times']['host_ns']:.0f} ns a call")
