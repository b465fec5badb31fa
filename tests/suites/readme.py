"""Checks that every whole suite in a page's ```yaml blocks can be planned.

    readme.py PROGRAM PAGE
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def main():
    program, page = sys.argv[1:]
    suites = [block for block in re.findall(r"^```yaml\n(.*?)^```", pathlib.Path(page).read_text(), re.MULTILINE | re.DOTALL) if block.startswith("version:")]
    faults = [] if suites else ["no suite found"]
    with tempfile.TemporaryDirectory() as folder:
        for text in suites:
            file = pathlib.Path(folder) / "suite.yaml"
            file.write_text(text)
            done = subprocess.run([program, "run", file, "--dry-run"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                faults.append(done.stderr)
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
