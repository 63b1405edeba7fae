"""python test_cases/generate_all.py [TEXT ...]

Runs the generate.py of every case, or of those whose name holds one of the texts. The files come
out with the same bytes on every run; what git reports as changed afterwards is a real change.
"""

import runpy
import sys
from pathlib import Path


def main():
    folder = Path(__file__).resolve().parent
    failed = []
    scripts = sorted(folder.glob("*/generate.py"))
    chosen = [s for s in scripts if not sys.argv[1:] or any(t in s.parent.name for t in sys.argv[1:])]
    for script in chosen:
        try:
            runpy.run_path(str(script), run_name="__main__")
        except SystemExit as error:
            failed.append(f"{script.parent.name}: {error}")
    print(f"{len(chosen) - len(failed)} generated, {len(failed)} failed")
    for line in failed:
        print(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
