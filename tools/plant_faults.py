#!/usr/bin/env python3
"""Plants faults, one at a time, and sees whether the random calls of tests/differential notice.

usage: plant_faults.py [--deep] [--only TEXT] [--build FOLDER]     closes with `N passed, N failed`

tools/plant_faults.txt lists them; without --deep the short ones run. The tree is not touched: the
changed file stands in a folder of its own that the compiler searches first, one source is compiled,
and build/test_differential is linked again with it in front of the library.
"""

import argparse
import json
import shlex
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

TABLE = ROOT / "tools" / "plant_faults.txt"
PROGRAM = "test_differential"
CALLS, SEED = 400, 4


class Fault(NamedTuple):
    what: str
    short: bool
    file: str
    line: str
    replacement: str
    source: str


def read_faults():
    faults = []
    for block in TABLE.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip() and not line.startswith("#")]
        fields = dict(line.split(": ", 1) for line in lines)
        if not fields:
            continue
        words = fields["fault"].split()
        short = words[-1] == "short"
        what = " ".join(words[:-1] if short else words)
        faults.append(Fault(what, short, fields["file"], fields["line"], fields["with"],
                            fields.get("compile", fields["file"])))
    return faults


class Tree:
    """What is built already."""

    def __init__(self, build, work):
        self.build, self.work = build, work
        database = json.loads((build / "compile_commands.json").read_text())
        self.compile = {str(Path(entry["file"])): shlex.split(entry["command"]) for entry in database}
        commands = subprocess.check_output(["ninja", "-C", build, "-t", "commands", PROGRAM], text=True)
        # ": && g++ ... && :"
        link = shlex.split(commands.strip().splitlines()[-1])
        self.link = [word for word in link if word not in (":", "&&")]

    def compile_fault(self, fault, folder):
        original = (ROOT / fault.file).read_text()
        if original.count(fault.line) != 1:
            raise SystemExit(f"{fault.what}: {fault.file} has the line {original.count(fault.line)} times")
        changed = folder / "tree" / fault.file
        changed.parent.mkdir(parents=True)
        changed.write_text(original.replace(fault.line, fault.replacement))
        source = ROOT / fault.source
        command = list(self.compile[str(source)])
        where = command.index(f"-I{ROOT}")
        command.insert(where, f"-I{folder / 'tree'}")
        # Speed of the object does not matter; what is left unused by a fault is no warning here.
        command = ["-O1" if word == "-O2" else word for word in command if word != "-Werror"] + ["-w"]
        command[command.index("-o") + 1] = str(folder / "fault.o")
        command[command.index("-c") + 1] = str(changed if fault.source == fault.file else source)
        self.run(command, fault)

    def link_fault(self, fault, folder):
        command = list(self.link)
        command[command.index("-o") + 1] = str(folder / "program")
        first = next(i for i, word in enumerate(command) if word.endswith(".o"))
        command.insert(first, str(folder / "fault.o"))
        self.run(command, fault)

    def run(self, command, fault):
        done = subprocess.run(command, cwd=self.build, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"{fault.what}: {' '.join(command)}\n{done.stderr[-2000:]}")


def plant(tree, fault, calls):
    """(caught, sentence)"""
    folder = tree.work / "-".join(fault.what.replace("'", "").split())
    shutil.rmtree(folder, ignore_errors=True)
    start = time.monotonic()
    tree.compile_fault(fault, folder)
    tree.link_fault(fault, folder)
    built = time.monotonic() - start
    try:
        done = subprocess.run([folder / "program", calls, "--stop"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=120)
        caught = done.returncode != 0
        text = done.stdout.decode("utf-8", "replace").splitlines()
        reason = text[0] if text else f"ended with {done.returncode}"
    except subprocess.TimeoutExpired:
        caught, reason = True, "did not end"
    seconds = time.monotonic() - start - built
    shutil.rmtree(folder)
    state = "caught" if caught else "NOT CAUGHT"
    reason = reason.replace(str(calls) + "/", "")[:150]
    return caught, f"{state}: {fault.what} (built in {built:.1f} s, run for {seconds:.1f} s): {reason}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deep", action="store_true", help="all of them")
    parser.add_argument("--only", default="", metavar="TEXT", help="those whose description holds it")
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    from tests.differential.__main__ import write

    work = options.build.resolve() / "plant_faults"
    calls = work / "calls"
    write(calls, CALLS, SEED, None)
    faults = [fault for fault in read_faults() if options.only in fault.what]
    chosen = [fault for fault in faults if options.deep or options.only or fault.short]
    tree = Tree(options.build.resolve(), work)
    # Without a fault everything passes, else nothing that follows means anything.
    clean = subprocess.run([options.build / PROGRAM, calls], stdout=subprocess.PIPE, text=True)
    print(f"without a fault: {clean.stdout.splitlines()[-1]}")
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda fault: plant(tree, fault, calls), chosen))
    for _, sentence in results:
        print(sentence)
    passed = sum(caught for caught, _ in results) + (clean.returncode == 0)
    failed = len(results) + 1 - passed
    print(f"{len(chosen)} of {len(faults)} faults were planted")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
