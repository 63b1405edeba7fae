#!/usr/bin/env python3
"""Writes the node tests that the installed onnx package carries, in the form `engine test` reads.

usage: onnx_node_tests.py OUT [OP...]

With operators (Attention, com.microsoft.Gelu): only tests of those and the forms of them that are
expanded into other operators. A directory a test: model.onnx, tol.json {"rtol", "atol"} and
test_data_set_N/{input,output}_K.pb. Tests of sequences, optionals and maps are left out.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from onnx import TensorProto, numpy_helper

EXPANDED = "_expanded"


def collect():
    """All node tests of the package, by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case import node as node_tests

        cases = node_tests.collect_testcases(None)
    return {case.name: case for case in cases if holds_tensors_only(case)}


def holds_tensors_only(case):
    graph = case.model.graph
    values = list(graph.input) + list(graph.output)
    return all(value.type.HasField("tensor_type") for value in values)


def plain_name(name):
    """The test that `name` is the expanded form of, or the name itself."""
    return name.split(EXPANDED)[0]


def operators(case):
    """(domain, operator) of every node of the graph; "" is ai.onnx."""
    return {("" if n.domain == "ai.onnx" else n.domain, n.op_type) for n in case.model.graph.node}


def select(cases, wanted):
    """Tests whose plain form has one of the operators; wanted holds (domain, operator)."""
    chosen = {}
    for name, case in cases.items():
        plain = cases.get(plain_name(name), case)
        if operators(plain) & wanted:
            chosen[name] = case
    return chosen


def tensor_file(path, value, name):
    proto = value
    if not isinstance(value, TensorProto):
        proto = numpy_helper.from_array(np.asarray(value), name)
    path.write_bytes(proto.SerializeToString(deterministic=True))


def write(case, directory):
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "model.onnx").write_bytes(case.model.SerializeToString(deterministic=True))
    (directory / "tol.json").write_text(json.dumps({"rtol": case.rtol, "atol": case.atol}) + "\n")
    graph = case.model.graph
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = directory / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        for kind, arrays, values in (("input", inputs, graph.input), ("output", outputs, graph.output)):
            for index, (array, value) in enumerate(zip(arrays, values)):
                tensor_file(data / f"{kind}_{index}.pb", array, value.name)


def parse_operator(text):
    domain, _, operator = text.rpartition(".")
    return ("" if domain == "ai.onnx" else domain, operator)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("operators", nargs="*", metavar="OP")
    options = parser.parse_args()
    cases = collect()
    if options.operators:
        cases = select(cases, {parse_operator(text) for text in options.operators})
    for name, case in cases.items():
        write(case, options.out / name)
    print(f"{len(cases)} tests written to {options.out}")
    return 0 if cases else 1


if __name__ == "__main__":
    sys.exit(main())
