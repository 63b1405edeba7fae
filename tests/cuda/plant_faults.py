#!/usr/bin/env python3
"""Plants faults in the CUDA kernels and their host code, one at a time, and sees whether the tests notice.

usage: plant_faults.py [--deep] [--only TEXT] [--jobs N]     closes with `N passed, N failed`

The tree is not touched: the changed file stands in a folder that the compiler searches first, and only what it is
part of is compiled again, with the few kernels that are tested as PTX too. Needs nothing built; without nvcc the
faults in PTX are left out.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent.parent
NVCC = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
FLAGS = ["-std=c++20", "-O1", "-w"]
INSTRUMENT = ["-fsanitize=thread", "--param", "tsan-instrument-func-entry-exit=0"]
# The kernels that ENGINE_TEST_FEW_KERNELS leaves to the tests (cmake/cuda.cmake).
FEW = {"flash_prefill": r"flashPrefill(F16W64|BF16W128)\b",
       "flash_decode": r"flashDecode(F16W64|BF16W128|F16I8W64|Merge\w+)\b"}
LIMIT_S = 120
CORE, PREFILL, DECODE = (f"kernels/cuda/flash_{x}.cuh" for x in ("core", "prefill", "decode"))
ARGS, MERGE, PRIM = "kernels/cuda/sdpa_args.h", "kernels/cuda/softmax_merge.h", "kernels/cuda/prim.h"


class Fault(NamedTuple):
    what: str
    test: str  # flash_prefill, flash_decode, or ptx: the primitives, from PTX
    file: str
    old: str
    new: str


FAULTS = [Fault(*row) for row in [
    ("an offset without a sign", "flash_prefill", ARGS, "? keyCount - queries : offset;",
     "? static_cast<uint32_t>(keyCount - queries) : static_cast<uint32_t>(offset);"),
    ("lengths longer than the mask", "flash_decode", ARGS, "if (keyCount > visibleColumns)", "if (false)"),
    ("prefill: no barrier before the keys", "flash_prefill", PREFILL,
     "prim::syncBlock();     // for everybody", ";// for everybody"),
    ("prefill: no barrier before the values", "flash_prefill", PREFILL,
     "prim::syncBlock();\n    if (tile + 1 < last)\n      copyValues", "if (tile + 1 < last)\n      copyValues"),
    ("prefill: no barrier before the next rows", "flash_prefill", PREFILL,
     "prim::syncBlock(); // the next rows", "// the next rows"),
    ("prefill: a short wait for the keys", "flash_prefill", PREFILL,
     "prim::waitCopies<1>(); // the keys", "prim::waitCopies<2>(); // the keys"),
    ("prefill: a short wait for the values", "flash_prefill", PREFILL,
     "prim::waitCopies<1>(); // the values", "prim::waitCopies<2>(); // the values"),
    ("prefill: one stage for the keys", "flash_prefill", PREFILL,
     "keys + (i & 1) * Shape::kKeys * kWidth", "keys"),
    ("prefill: one key tile too few", "flash_prefill", PREFILL,
     "(range.hi + kKeys - 1) / kKeys", "range.hi / kKeys"),
    ("prefill: the wrong KV head", "flash_prefill", PREFILL, "h / a.group()", "h % a.kvHeads"),
    ("prefill: rows without a key keep what they met", "flash_prefill", PREFILL,
     "rows[r].lo < rows[r].hi && sum != 0.0f", "true"),
    ("no zero fill", "flash_prefill", CORE, "prim::copyAsync16(tile + tileOffset<kWidth>(row, chunk), from, valid);",
     "prim::copyAsync16(tile + tileOffset<kWidth>(row, chunk), source.row(row0 + row) + chunk * 8, true);"),
    ("the row beyond the last key is read", "flash_prefill", CORE,
     "row0 + row < end &&", "row0 + row <= end &&"),
    ("a window off by one", "flash_prefill", CORE, "key >= row.lo &&", "key > row.lo &&"),
    ("the other end off by one", "flash_decode", CORE, "key < row.hi;", "key <= row.hi;"),
    ("the second segment's stride", "flash_decode", CORE, "(i - split) * secondStride", "i * secondStride"),
    ("the bias is not at the key's start", "flash_decode", CORE,
     "row.bias = scoreOffset(a.bias, b, h, i, e.frame.keyStart);",
     "row.bias = scoreOffset(a.bias, b, h, i + 1, e.frame.keyStart);"),
    ("a bias of -inf is an ordinary number", "flash_prefill", CORE, "visible = bias != minusInfinity();", ";"),
    ("bias before softcap", "flash_prefill", CORE, "s[i][e] += bias;",
     "s[i][e] = a.softcap > 0 ? a.softcap * prim::tanhAccurate((s[i][e] + bias) / a.softcap) : s[i][e] + bias;"),
    ("hidden values are used", "flash_prefill", CORE, "b[0] & low, b[1] & high", "b[0], b[1]"),
    ("the maximum of half a row", "flash_decode", CORE, "max = larger(max, prim::shuffleXor(max, 2));", ""),
    ("the output keeps its old scale", "flash_decode", CORE, "state.out[i][2 * r] *= keep;", ""),
    ("a maximum of -inf", "flash_prefill", CORE, "max == minusInfinity() ? 0.0f : max;", "max;"),
    ("log2 e before the difference", "flash_prefill", MERGE, "(logit - max) * kLog2E", "logit * kLog2E - max * kLog2E"),
    ("merge: two empty parts", "flash_decode", MERGE, "max == minusInfinity() ? 0.0f : max;", "max;"),
    ("merge: the parts' scales", "flash_decode", MERGE, "a.sum * keep + b.sum * add", "a.sum + b.sum"),
    ("decode: no warp barrier", "flash_decode", DECODE, "prim::syncWarp(); // the tile", "// the tile"),
    ("decode: a short wait", "flash_decode", DECODE, "prim::waitCopies<kStages - 2>();", "prim::waitCopies<kStages - 1>();"),
    ("decode: results over tiles in use", "flash_decode", DECODE,
     "prim::syncBlock(); // all warps are done", "// all warps are done"),
    ("decode: no barrier before the merge", "flash_decode", DECODE,
     "prim::syncBlock();\n  const int rows = a.group() * a.queries;\n  const int end",
     "const int rows = a.group() * a.queries;\n  const int end"),
    ("decode: the last part loses a tile", "flash_decode", DECODE,
     "left < tilesOfPart ? left : tilesOfPart;", "left < tilesOfPart ? left - 1 : tilesOfPart;"),
    ("decode: heads of the wrong group", "flash_decode", DECODE,
     "kvHead * a.group() + row % a.group(), row / a.group()", "kvHead + row % a.group() * a.kvHeads, row / a.group()"),
    ("decode: rows beyond queryLen", "flash_decode", DECODE, "!valid || part.sum == 0.0f", "part.sum == 0.0f"),
    ("decode: value scales of another channel", "flash_decode", DECODE,
     "h / a.group() * a.vHeadSize + c : 0", "h / a.group() * a.vHeadSize + c / 2 : 0"),
    ("decode: the order of int8 channels", "flash_decode", DECODE,
     "return (tile >> 1) * 16 + 4 * t + 2 * column + (tile & 1);", "return 8 * tile + 2 * t + column;"),
    ("host: the new keys are forgotten", "flash_decode", "kernels/cuda/make_sdpa_args.cpp",
     "a.kNew = rows(p.kNew);", ""),
    ("host: bias columns do not hide", "flash_prefill", "kernels/cuda/make_sdpa_args.cpp",
     "a.columns = std::min(a.columns, view->dims[3]);", ";"),
    ("host: alignment unchecked", "flash_prefill", "kernels/cuda/make_sdpa_args.cpp",
     "view.strides[axis] % elements != 0", "false"),
    ("host: shared memory unchecked", "flash_decode", "kernels/cuda/flash_decode.cpp",
     "sharedBytes(p) > device.sharedPerBlock", "false"),
    ("PTX: mma's b registers swapped", "ptx", PRIM, "f32.f16.f16.f32 \"\n                 \"{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}",
     "f32.f16.f16.f32 \"\n                 \"{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%9,%8}"),
    ("PTX: ldmatrix without .trans", "ptx", PRIM, "x4.trans.shared", "x4.shared"),
    ("PTX: ldmatrix's registers swapped", "ptx", PRIM, "x4.shared.b16 {%0,%1,%2,%3}", "x4.shared.b16 {%0,%2,%1,%3}"),
    ("PTX: cp.async fills nothing", "ptx", PRIM, "\"r\"(valid ? 16 : 0)", "\"r\"(16)"),
    ("PTX: wait for one group less", "ptx", PRIM, "\"n\"(kGroups) : \"memory\"", "\"n\"(kGroups + 1) : \"memory\""),
    ("PTX: halves packed the wrong way round", "ptx", PRIM, "cvt.rn.bf16x2.f32 %0, %1, %2", "cvt.rn.bf16x2.f32 %0, %2, %1"),
]]


# Twenty that are much like others: only with --deep.
DEEP_ONLY = {
    "prefill: no barrier before the values", "prefill: a short wait for the values", "prefill: one stage for the keys",
    "prefill: the wrong KV head", "the row beyond the last key is read", "the other end off by one",
    "the bias is not at the key's start", "bias before softcap", "the output keeps its old scale",
    "log2 e before the difference", "merge: the parts' scales", "decode: a short wait",
    "decode: no barrier before the merge", "decode: heads of the wrong group",
    "decode: value scales of another channel", "host: bias columns do not hide", "lengths longer than the mask",
    "PTX: ldmatrix's registers swapped", "PTX: halves packed the wrong way round", "the maximum of half a row",
}


def call(command, **options):
    return subprocess.run([str(x) for x in command], capture_output=True, text=True, cwd=ROOT, **options)


def must(command):
    result = call(command)
    if result.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{result.stderr}")


class Bench:
    """What all faults share, compiled once."""

    def __init__(self, work, pool):
        self.work = work
        sources = sorted((ROOT / "kernels/cuda/sim").glob("*.cpp")) + [
            ROOT / "ir/error.cpp", ROOT / "tests/cuda/main.cpp", ROOT / "tests/cuda/primitives_test.cpp"]
        sources += sorted((ROOT / "kernels/cuda").glob("*.cpp"))
        sources += [ROOT / f"tests/cuda/{test}_test.cpp" for test in FEW]
        self.objects = {source.relative_to(ROOT).as_posix(): work / f"{source.stem}.o" for source in sources}
        list(pool.map(lambda source: must(["g++", *FLAGS, "-DENGINE_TEST_FEW_KERNELS", "-I", ROOT, "-c", source, "-o",
                                           self.objects[source.relative_to(ROOT).as_posix()]]), sources))

    def linked(self, test):
        """Objects beside the kernels, by source."""
        wanted = ["ir/error.cpp"] + [s for s in self.objects if s.startswith("kernels/cuda/")]
        wanted += ["tests/cuda/primitives_test.cpp"] if test == "ptx" else [
            "tests/cuda/main.cpp", f"tests/cuda/{test}_test.cpp"]
        return {source: self.objects[source] for source in wanted}

    def compile(self, fault, folder):
        """The program with the fault in it, or the compiler's complaint."""
        steps = []
        objects = self.linked(fault.test)
        search = ["-I", folder, "-I", ROOT]
        program, kernels = folder / "test", folder / "kernels.o"
        if fault.test == "ptx":
            ptx, cpp = folder / "primitives.ptx", folder / "primitives.cpp"
            steps.append([NVCC, "-std=c++20", "-arch=sm_80", "-ptx", *search, "-o", ptx, "tests/cuda/primitives.cu"])
            steps.append([sys.executable, "tools/ptx2cpp.py", ptx, cpp])
            steps.append(["g++", *FLAGS, "-I", ROOT, "-c", cpp, "-o", kernels])
        else:
            text = (ROOT / f"kernels/cuda/{fault.test}.cu").read_text()
            lines = [line for line in text.splitlines()
                     if "ENGINE_KERNEL_ENTRY" not in line or re.search(FEW[fault.test], line)]
            (folder / "kernels.cu").write_text("\n".join(lines) + "\n")
            steps.append(["g++", *FLAGS, *INSTRUMENT, *search, "-x", "c++", "-c", folder / "kernels.cu", "-o", kernels])
            again = [s for s in objects if s == fault.file]
            if fault.file in (MERGE, ARGS):
                again = [f"tests/cuda/{fault.test}_test.cpp"]
            for source in again:
                changed = folder / source if source == fault.file else ROOT / source
                objects[source] = folder / "again.o"
                steps.append(["g++", *FLAGS, "-DENGINE_TEST_FEW_KERNELS", *search, "-c", changed, "-o", objects[source]])
        steps.append(["g++", "-o", program, kernels, *objects.values(), "-lpthread"])
        for step in steps:
            result = call(step)
            if result.returncode:
                return None, result.stderr[-600:]
        return program, ""

    def caught(self, fault):
        """(caught, what happened)"""
        with tempfile.TemporaryDirectory(dir=self.work) as name:
            folder = Path(name)
            text = (ROOT / fault.file).read_text()
            if text.count(fault.old) < 1:
                return False, "the line to change is not there any more"
            changed = folder / fault.file
            changed.parent.mkdir(parents=True, exist_ok=True)
            changed.write_text(text.replace(fault.old, fault.new))
            program, complaint = self.compile(fault, folder)
            if not program:
                return False, "it does not compile: " + complaint
            arguments = ["tests/cuda/golden.txt"] if fault.test == "ptx" else ["--abort-after=1"]
            try:
                result = call([program, *arguments], timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                return True, "it did not end"
            output = result.stdout + result.stderr
            reason = re.search(r"exception: .*?: ([a-z ]+): |(ERROR: CHECK)", output)
            return result.returncode != 0, (reason[1] or "wrong result") if reason else "wrong result"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--deep", action="store_true", help="all of them")
    parser.add_argument("--only", default="", help="those whose names contain the text")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    options = parser.parse_args()
    every = options.deep or options.only
    faults = [f for f in FAULTS if options.only in f.what and (every or f.what not in DEEP_ONLY)]
    faults = [f for f in faults if NVCC or f.test != "ptx"]
    failed = 0
    with tempfile.TemporaryDirectory() as work, ThreadPoolExecutor(options.jobs) as pool:
        bench = Bench(Path(work), pool)
        for fault, (caught, how) in zip(faults, pool.map(bench.caught, faults)):
            failed += not caught
            print(f"{'caught' if caught else 'MISSED'}  {fault.what} ({how if caught else how + '; it passes'})", flush=True)
    print(f"{len(faults) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
