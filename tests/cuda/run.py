#!/usr/bin/env python3
"""Runs the tests of the CUDA kernels and of tools/ptx2cpp.py.

usage: run.py BUILD_DIR     prints `N passed, N failed` twice: of the tests, and of planted faults (all with DEEP=1)
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HERE = ROOT / "tests" / "cuda"
TRANSLATOR = ROOT / "tools" / "ptx2cpp.py"
DOCTEST = re.compile(r"test cases: *\d+ *\| *(\d+) passed *\| *(\d+) failed")
PLAIN = re.compile(r"^(\d+) passed, (\d+) failed$", re.M)
LIMIT_S = 300

PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry kernel(.param .u64 kernel_param_0)
{
\t.reg .pred %p<3>;
\t.reg .f32 %f<4>;
\t.reg .b32 %r<8>;
\t.reg .b64 %rd<4>;
BODY
\tret;
}
"""

# What the translator must refuse: the body of a kernel, and what the message says.
REFUSED = [
    ("add.u32 %r1, %r2, %r3;", None),
    ("frobnicate.u32 %r1, %r2;", "unknown instruction frobnicate.u32"),
    ("add.sat.s32 %r1, %r2, %r3;", "unknown instruction add.sat.s32"),
    ("add.rz.f32 %f1, %f2, %f3;", "unknown instruction add.rz.f32"),
    ("fma.rn.sat.f32 %f1, %f2, %f3, %f1;", "unknown instruction fma.rn.sat.f32"),
    ("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f1},{%r1},{%r2},{%f1};", "unknown instruction mma"),
    ("mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f1},{%r1},{%r2},{%f1};", "unknown instruction mma"),
    ("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2}, [%r3];", "the number of registers"),
    ("cp.async.cg.shared.global [%r1], [%rd1], 8;", "cp.async.cg copies 16 bytes"),
    ("cp.async.bulk.commit_group;", "unknown instruction cp.async.bulk.commit_group"),
    ("bar.sync 1;", "a barrier other than 0"),
    ("bar.arrive 0, 64;", "unknown instruction bar.arrive"),
    ("shfl.bfly.b32 %r1, %r2, 1, 31;", "unknown instruction shfl.bfly.b32"),
    ("atom.global.inc.u32 %r1, [%rd1], %r2;", "unknown instruction atom.global.inc.u32"),
    ("cvt.rz.f16.f32 %r1, %f1;", "unknown instruction cvt.rz.f16.f32"),
    ("mov.u32 %r1, %r99;", "unknown operand %r99"),
    ("mov.u32 %r1, %clock;", "unknown operand %clock"),
    (".shared .align 4 .b8 fixed[64];", "only dynamic shared memory is simulated"),
    (".branchtargets a, b;", "unknown directive"),
    ("call foo, ();", "unknown instruction call"),
]


def translate(body, extra=""):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "test.ptx"
        source.write_text(extra + PTX.replace("BODY", "\t" + body))
        return subprocess.run([sys.executable, TRANSLATOR, source, Path(folder) / "out.cpp"],
                              capture_output=True, text=True)


def translator():
    passed = failed = 0
    for body, message in REFUSED:
        result = translate(body)
        good = result.returncode == 0 if message is None else (
            result.returncode == 1 and message in result.stderr and "test.ptx:" in result.stderr)
        passed += good
        failed += not good
        if not good:
            print(f"ptx2cpp on '{body}': status {result.returncode}, {result.stderr.strip()!r}, expected {message!r}")
    result = translate("", ".func foo() { ret; }\n")
    good = result.returncode == 1 and "unknown directive: .func foo" in result.stderr
    return passed + good, failed + (not good)


def run(binary):
    start = time.monotonic()
    command = [binary] + ([HERE / "golden.txt"] if "primitives" in binary.name else [])
    try:
        result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
        status, text = result.returncode, result.stdout + result.stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        status, text = 1, str(error)
    m = DOCTEST.search(text) or PLAIN.search(text)
    passed, failed = (int(m[1]), int(m[2])) if m else (0, 1)
    if status and not failed:
        failed = 1
    return binary.name, time.monotonic() - start, passed, failed, text


def main():
    folder = Path(sys.argv[1]) / "tests_cuda"
    names = (folder / "tests.txt").read_text().split()
    passed, failed = translator()
    print(f"{'ptx2cpp':32s}         {passed} right, {failed} wrong")
    has_nvcc = shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists()
    if has_nvcc and not any(name.endswith("_ptx_test") for name in names):
        print("nvcc is there, but the build has no tests of PTX: configure again")
        failed += 1
    if not has_nvcc:
        print("nvcc is not there: kernels are tested as host C++ only")
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for name, seconds, good, bad, text in pool.map(run, [folder / name for name in names]):
            print(f"{name:32s} {seconds:5.1f} s {good} right, {bad} wrong")
            if bad:
                print("\n".join("  | " + line for line in text.splitlines()[-40:]))
            passed += good
            failed += bad
    print(f"{passed} passed, {failed} failed", flush=True)
    deep = ["--deep"] if os.environ.get("DEEP") == "1" else []
    missed = subprocess.run([sys.executable, HERE / "plant_faults.py", *deep]).returncode
    sys.exit(failed > 0 or missed != 0)


if __name__ == "__main__":
    main()
