"""python -m tests.differential PROGRAM [--count N] [--seed N] [--only KIND] [--keep FOLDER]

Random valid calls of the attention operators, in one process of PROGRAM (build/test_differential),
against the float64 reference; a part of them against onnxruntime too, where it is right. Closes
with `N passed, N failed`. A failing call stays in FOLDER (default build/differential): it is a
directory that `engine test` runs.
"""

import argparse
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np

from .attention import random_attention
from .gqa import random_gqa
from .onnxruntime import random_onnxruntime
from .others import random_mha, random_scatter

ROOT = Path(__file__).resolve().parents[2]
# Kinds and their share in percent.
KINDS = {
    "gqa": (random_gqa, 45),
    "attention": (random_attention, 35),
    "mha": (random_mha, 6),
    "scatter": (random_scatter, 4),
    "onnxruntime": (random_onnxruntime, 10),
}


def kinds(count, only):
    """The kind of every call: the shares are kept, whatever the count."""
    if only:
        return [only] * count
    cycle = [name for name, (_, share) in KINDS.items() for _ in range(share)]
    order = np.random.default_rng(0).permutation(len(cycle))
    return [cycle[order[index % len(cycle)]] for index in range(count)]


def write(folder, count, seed, only):
    shutil.rmtree(folder, ignore_errors=True)
    for index, kind in enumerate(kinds(count, only)):
        # A call depends on its number, kind and the seed alone.
        rng = np.random.default_rng([seed, index, zlib.crc32(kind.encode())])
        with np.errstate(invalid="ignore", over="ignore"):  # of poisoned rows
            call = KINDS[kind][0](rng)
        call.write(folder / f"{index:05}_{kind}", rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=KINDS)
    parser.add_argument("--keep", type=Path, default=ROOT / "build" / "differential")
    options = parser.parse_args()
    write(options.keep, options.count, options.seed, options.only)
    done = subprocess.run([options.program, options.keep], stdout=subprocess.PIPE, text=True)
    sys.stdout.write(done.stdout)
    failed = {line.split(": ")[0] for line in done.stdout.splitlines() if ": " in line}
    for directory in options.keep.iterdir():
        if str(directory) not in failed and done.returncode in (0, 1):
            shutil.rmtree(directory)
    for directory in sorted(failed):
        text = Path(directory) / "case.txt"
        if text.exists():
            print(f"{directory}: {text.read_text().splitlines()[1]}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
