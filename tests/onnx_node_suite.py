#!/usr/bin/env python3
"""The ONNX project's own node tests, of every operator that the engine claims.

usage: onnx_node_suite.py ENGINE [--work FOLDER]     closes with `N passed, N failed`

A test counts where the engine claims all of its operators (`engine ops`) at the test's opset and
the first input's type. It must pass, or be refused as tests/onnx_node_refusals.txt says; the tests
of ALL_PASS must pass. Two forms are added to the package's own: a test of an opset that the engine
does not read is tested at the nearest that it reads, and a test that feeds axes and the like is
also tested with constants in their place, and must pass then. The generated files are kept in FOLDER (default
build/onnx_node_tests) until something that they depend on changes.
"""

import argparse
import copy
import fnmatch
import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools import onnx_node_tests  # noqa: E402

TABLE = ROOT / "tests" / "onnx_node_refusals.txt"
# Tests of these, and their expanded forms: at least so many, all of which pass.
ALL_PASS = {"Attention": 186, "RotaryEmbedding": 16, "RMSNormalization": 38, "TensorScatter": 3}
OPSETS = (7, 26)  # of ai.onnx, that the engine reads
CONSTANT = "_constant"  # what the name of the form with constants ends in
TYPES = {
    TensorProto.FLOAT: "f32", TensorProto.FLOAT16: "f16", TensorProto.BFLOAT16: "bf16",
    TensorProto.DOUBLE: "f64", TensorProto.INT8: "i8", TensorProto.UINT8: "u8",
    TensorProto.INT16: "i16", TensorProto.UINT16: "u16", TensorProto.INT32: "i32",
    TensorProto.UINT32: "u32", TensorProto.INT64: "i64", TensorProto.UINT64: "u64",
    TensorProto.BOOL: "bool", TensorProto.INT4: "i4", TensorProto.UINT4: "u4",
}


class Refusal(NamedTuple):
    """A line of the table: tests that may be refused, and the words of `engine ops` that say so."""

    pattern: str
    operator: str
    words: str


def read_table():
    lines = [line.split("#")[0].strip() for line in TABLE.read_text().splitlines()]
    return [Refusal(*(part.strip() for part in line.split("|"))) for line in lines if line]


def claimed_rows(engine):
    rows = {}
    for row in json.loads(subprocess.check_output([engine, "ops", "--json"])):
        domain = "" if row["domain"] == "ai.onnx" else row["domain"]
        rows.setdefault((domain, row["operator"]), []).append(row)
    return rows


def at_known_opset(case):
    """A test of an opset that the engine does not read, at the nearest that it does.

    An older opset only where the operators did not change since.
    """
    imports = [o for o in case.model.opset_import if o.domain in ("", "ai.onnx")]
    for entry in imports:
        near = min(max(entry.version, OPSETS[0]), OPSETS[1])
        kinds = {node.op_type for node in case.model.graph.node if node.domain in ("", "ai.onnx")}
        if not all(onnx.defs.has(kind, near, "") for kind in kinds):
            return
        if near > entry.version and any(since(kind, near) > entry.version for kind in kinds):
            return
        entry.version = near


def since(kind, opset):
    return onnx.defs.get_schema(kind, opset).since_version


def with_constants(case, row):
    """The same test with integers that its only node takes as initializers, where a constant counts.

    None where that changes nothing.
    """
    if len(case.model.graph.node) != 1 or "only the run knows" not in row["refused"]:
        return None
    fed = {value.name: index for index, value in enumerate(case.model.graph.input)}
    indices = [fed[name] for name in case.model.graph.node[0].input[1:]
               if name in fed and np.asarray(case.data_sets[0][0][fed[name]]).dtype.kind == "i"]
    if not indices or len(case.data_sets) != 1:
        return None
    arrays, expected = case.data_sets[0]
    result = copy.deepcopy(case)
    graph = result.model.graph
    for index in indices:
        name = case.model.graph.input[index].name
        graph.initializer.append(numpy_helper.from_array(np.asarray(arrays[index]), name))
    kept = [index for index in range(len(arrays)) if index not in indices]
    inputs = [case.model.graph.input[index] for index in kept]
    del graph.input[:]
    graph.input.extend(inputs)
    result.data_sets = [([arrays[index] for index in kept], expected)]
    return result


def row_for(rows, key, opset):
    for row in rows.get(key, []):
        if row["since"] <= opset and (row["until"] is None or opset <= row["until"]):
            return row
    return None


def element_types(graph):
    """Element types by value name, of what the graph declares."""
    values = list(graph.input) + list(graph.output) + list(graph.value_info)
    return {value.name: value.type.tensor_type.elem_type for value in values}


def claimed(case, rows):
    """Whether the engine claims every node of a test, and the type of its first input."""
    opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in case.model.opset_import}
    types = element_types(case.model.graph)
    for node in case.model.graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        row = row_for(rows, (domain, node.op_type), opsets.get(domain, 1))
        if row is None:
            return False
        first = types.get(node.input[0]) if node.input else None
        if first is not None and row["types"] and TYPES.get(first) not in row["types"]:
            return False
    return True


def cache_key(rows):
    """Changes when the files must be written again."""
    parts = [Path(onnx_node_tests.__file__).read_text(), Path(__file__).read_text(),
             onnx.__version__, str(sorted(rows.items()))]
    return hashlib.sha256("".join(parts).encode()).hexdigest()


def generate(work, rows):
    """Operators of the plain form by test name; the tests are written below `work`."""
    index, key = work / "index.json", cache_key(rows)
    if index.exists():
        known = json.loads(index.read_text())
        if known["key"] == key:
            return known["tests"]
    shutil.rmtree(work, ignore_errors=True)
    cases = onnx_node_tests.collect()
    tests = {}
    for name, case in cases.items():
        at_known_opset(case)
        if not case.data_sets or not claimed(case, rows):
            continue
        plain = cases.get(onnx_node_tests.plain_name(name), case)
        operators = onnx_node_tests.operators(plain)
        tests[name] = sorted(operator for _, operator in operators)
        onnx_node_tests.write(case, work / name)
        opset = case.model.opset_import[0].version
        constant = with_constants(case, row_for(rows, next(iter(operators)), opset) or {"refused": ""})
        if constant:
            tests[name + CONSTANT] = tests[name]
            onnx_node_tests.write(constant, work / (name + CONSTANT))
    index.write_text(json.dumps({"key": key, "tests": tests}))
    return tests


def run(engine, work, names):
    """Failure reasons by test; empty for those that passed."""
    done = subprocess.run([engine, "test", *names], cwd=work, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        print(f"engine test ended with {done.returncode}")
    reasons, current = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("    "):
            reasons[current].append(line.strip())
        elif match := re.fullmatch(r"(\S+) +(ok|FAILED)", line):
            current = match[1]
            reasons[current] = []
            if match[2] == "FAILED":
                reasons[current].append("FAILED")
    return {name: " ".join(lines[1:]) or "".join(lines) for name, lines in reasons.items()}


def is_refusal(reason, operator):
    """A message of the engine that names the operator or the type, not a wrong result."""
    named = f".{operator})" in reason or "element type" in reason
    return named and "elements are off" not in reason


def refusal_for(table, name, reason, rows):
    for entry in table:
        if not fnmatch.fnmatchcase(name, entry.pattern):
            continue
        for (_, operator), versions in rows.items():
            listed = any(entry.words in row["refused"] for row in versions)
            known = listed and fnmatch.fnmatchcase(operator, entry.operator)
            if known and is_refusal(reason, operator):
                return entry
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", type=Path)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "onnx_node_tests")
    options = parser.parse_args()
    engine = options.engine.resolve()
    rows, table = claimed_rows(engine), read_table()
    tests = generate(options.work, rows)
    reasons = run(engine, options.work, list(tests))

    passed, failed, refused, used = 0, 0, 0, set()
    counts = dict.fromkeys(ALL_PASS, 0)
    for name, operators in tests.items():
        reason = reasons.get(name, "it was not run")
        must_pass = set(operators) & set(ALL_PASS)
        may_be_refused = reason and not must_pass and not name.endswith(CONSTANT)
        entry = refusal_for(table, name, reason, rows) if may_be_refused else None
        if reason and entry is None:
            failed += 1
            print(f"{name}: {reason}")
            continue
        used.add(entry)
        refused += entry is not None
        passed += 1
        for operator in must_pass:
            counts[operator] += 1
    for operator, least in ALL_PASS.items():
        print(f"{operator}: {counts[operator]} pass")
        if counts[operator] < least:
            failed += 1
            print(f"{operator}: expected {least}")
    print(f"refused as the table says: {refused}")
    for entry in table:
        if entry not in used:
            failed += 1
            print(f"{TABLE.name}: no test is refused by {' | '.join(entry)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
