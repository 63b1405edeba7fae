#!/usr/bin/env python3
"""Holds the #include lines to the layering (docs/design.md, section 1), one check per rule.

usage: check_layers.py [BUILD_DIR]    with BUILD_DIR the objects compiled for one instruction set too
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
LAYERS = ("ir", "frontend", "lowering", "kernels", "runtime")
FOLDERS = LAYERS + ("tests", "bench", "examples")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>]+)>|"([^"]+)")', re.M)

# layer -> prefixes of the project's own files that it may include
MAY_INCLUDE = {
    "ir": ("ir/",),
    "frontend": ("ir/", "frontend/"),
    "kernels": ("ir/", "kernels/"),
    "lowering": ("ir/", "lowering/", "kernels/kernel.h"),
}

# what -> pattern of the header, prefixes of the files that may include it
RESERVED = {
    "protobuf": (r"(google/protobuf/|.*\.pb\.h$)", ("frontend/",)),
    "oneDNN": (r"(oneapi/dnnl/|dnnl)", ("kernels/cpu/",)),
    "Highway": (r"hwy/", ("kernels/cpu/",)),
    "CUDA": (r"(cuda|cublas|cub/|cute/|mma\.h$|nv_|curand)", ("kernels/cuda/", "gpu/")),
    "OpenMP": (r"omp\.h$", ("kernels/cpu/", "runtime/")),
    "libzip": (r"zip(conf)?\.h$", ("runtime/",)),
    "JSON": (r"nlohmann/", ("runtime/", "tests/")),
    "CLI11": (r"CLI/", ("runtime/main.cpp", "runtime/cli")),
    "doctest": (r"doctest/", ("tests/",)),
}

# Included by device code or by users: only the standard library and each other.
PLAIN = ("ir/band.h", "ir/dtype.h", "ir/view.h", "ir/half.h", "kernels/sdpa_problem.h")
# What is installed, and what of our own it may include.
PUBLIC = {"runtime/engine.h": ("ir/dtype.h",), "runtime/generate.h": ("engine.h",), "ir/dtype.h": ()}


def includes():
    """path -> [(line, header, written with quotes)] of every source file."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file():
                continue
            text = path.read_text(encoding="utf-8")
            found[path.relative_to(ROOT).as_posix()] = [
                (text.count("\n", 0, m.start()) + 1, m.group(1) or m.group(2), bool(m.group(2)))
                for m in INCLUDE.finditer(text)
            ]
    return found


def standard(header):
    return "/" not in header and not header.endswith(".h")


def own(files, header):
    """The project's file that an include names, there or not, or None."""
    return header if header in files or header.startswith(tuple(f + "/" for f in LAYERS)) else None


def layer_rule(files, layer):
    for path, lines in files.items():
        if path.startswith(layer + "/"):
            for line, header, _ in lines:
                if own(files, header) and not header.startswith(MAY_INCLUDE[layer]):
                    yield f"{path}:{line}: {layer} may not include {header}"


def quoted_rule(files):
    for path, lines in files.items():
        if path.startswith(tuple(f + "/" for f in LAYERS)):
            for line, header, quoted in lines:
                beside = header in PUBLIC.get(path, ())  # installed headers stand beside each other
                if quoted and "/" not in header and not header.endswith(".pb.h") and not beside:
                    yield f"{path}:{line}: \"{header}\" is relative: name it from the root"
                if not quoted and header in files:
                    yield f"{path}:{line}: <{header}> is the project's own: use quotes"


def reserved_rule(files, what):
    pattern, homes = RESERVED[what]
    for path, lines in files.items():
        for line, header, _ in lines:
            if re.match(pattern, header) and not own(files, header) and not path.startswith(homes):
                yield f"{path}:{line}: {what} ({header}) belongs to {', '.join(homes)}"


def plain_rule(files):
    roots = [p for p in files if p in PLAIN or p.endswith((".cu", ".cuh"))]
    for root in roots:
        seen, todo = {root}, [root]
        while todo:
            path = todo.pop()
            for line, header, _ in files.get(path, []):
                target = own(files, header)
                device = path.startswith("kernels/cuda/") and re.match(RESERVED["CUDA"][0], header)
                if target and target not in seen:
                    seen.add(target)
                    todo.append(target)
                elif not target and not standard(header) and not device:
                    via = "" if path == root else f" (reached from {root})"
                    yield f"{path}:{line}: a plain header includes {header}{via}"


def public_rule(files):
    for path, may in PUBLIC.items():
        for line, header, _ in files.get(path, []):
            if not standard(header) and header not in may:
                yield f"{path}:{line}: an installed header includes {header}"


def example_rule(files):
    for path, lines in files.items():
        if path.startswith("examples/"):
            for line, header, quoted in lines:
                if own(files, header) and not quoted:
                    yield f"{path}:{line}: an example uses <engine/engine.h>, not {header}"


def isa_rule(build):
    """A weak symbol in such an object may become the copy that machines without the set run."""
    for path in sorted(build.rglob("*.o")):
        if re.search(r"_(avx2|avx512bf16)\.cpp\.o$", path.name):
            out = subprocess.run(["nm", "-C", path], capture_output=True, text=True, check=True).stdout
            for line in out.splitlines():
                symbol = re.match(r"[0-9a-f]+ ([WuV]) (.*)", line)
                if symbol:
                    yield f"{path.name}: defines {symbol[2]}, which the linker may share"


def main():
    files = includes()
    if not files:
        sys.exit("no source files found")
    rules = [(f"{layer} includes only {', '.join(may)}", layer_rule(files, layer))
             for layer, may in MAY_INCLUDE.items()]
    rules += [("own headers are named from the root, in quotes", quoted_rule(files))]
    rules += [(f"{what} only in {', '.join(home)}", reserved_rule(files, what))
              for what, (_, home) in RESERVED.items()]
    rules += [("device code and plain headers include plain headers only", plain_rule(files)),
              ("installed headers need the standard library only", public_rule(files)),
              ("examples include the public header only", example_rule(files))]
    if len(sys.argv) > 1:
        build = ROOT / sys.argv[1] / "CMakeFiles"
        rules += [("objects for one instruction set share no function", isa_rule(build))]

    failed = 0
    for name, broken in rules:
        broken = list(broken)
        failed += bool(broken)
        if broken:
            print(f"rule broken: {name}", *broken, sep="\n  ")
    print(f"layering: {len(rules) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
