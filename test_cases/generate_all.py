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
    texts = sys.argv[1:] or [""]
    chosen = [script for script in scripts if any(text in script.parent.name for text in texts)]
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
