#!/usr/bin/env python3
"""The command line from outside: exit statuses, messages, files that are not what they seem.

usage: cli_test.py ENGINE     closes with `N passed, N failed`
"""

import io
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "test_cases"
ENGINE = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "engine").resolve()
DECODE = CASES / "gqa_decode"
DECODER = CASES / "genai_llama"

tests = []


def test(function):
    tests.append(function)
    return function


class Output:
    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


def engine(*arguments, environment=None, stdout=subprocess.PIPE):
    """Runs the engine; whatever happens, it must end by itself with one of the four statuses."""
    done = subprocess.run([ENGINE, *map(str, arguments)], stdout=stdout, stderr=subprocess.PIPE,
                          timeout=60, env={**os.environ, **(environment or {})})
    out, err = (done.stdout or b"").decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
    assert done.returncode in (0, 1, 2, 3), f"{arguments}: ended with {done.returncode}\n{err}"
    if done.returncode >= 2:
        assert err.startswith("error: ") or "\nerror: " in err, f"{arguments}: no error message\n{err}"
    return Output(done.returncode, out, err)


def refused(*arguments, says, **more):
    result = engine(*arguments, **more)
    assert result.status == 2, f"{arguments}: {result.status}, expected 2\n{result.out}{result.err}"
    for text in [says] if isinstance(says, str) else says:
        assert text in result.err, f"{arguments}: no {text!r} in\n{result.err}"
    return result


def accepted(*arguments, **more):
    result = engine(*arguments, **more)
    assert result.status == 0, f"{arguments}: {result.status}\n{result.out}{result.err}"
    return result


def save_model(path, nodes, inputs, outputs, initializers=(), opset=21):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    return path


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def add_model(path, dtype=TensorProto.FLOAT):
    """y = x + w, w with a default."""
    kind = helper.tensor_dtype_to_np_dtype(dtype)
    return save_model(path, [helper.make_node("Add", ["x", "w"], ["y"], name="sum")],
                      [value("x", dtype, ["n"]), value("w", dtype, [1])], [value("y", dtype, ["n"])],
                      [numpy_helper.from_array(np.ones(1, kind), "w")])


@test
def help_texts(folder):
    commands = "run test dump explain bench generate ops".split()
    text = accepted("--help").out
    for command in commands:
        assert command in text
        accepted(command, "--help")
    options = accepted("run", "--help").out
    for option in ("input-from-bundle save-outputs assert-output-bundle approx backend device threads isa kernel exact"
                   " no-pack set random-inputs cast-inputs state-in-place max-memory round-trip disable stop-after"
                   " weights").split():
        assert f"--{option}" in options, option


@test
def usage_is_refused(folder):
    refused(says="subcommand")
    refused("frobnicate", says="frobnicate")
    refused("run", says="MODEL")
    model = add_model(folder / "m.onnx")
    refused("run", model, "--frob", says="--frob")
    refused("run", model, "--threads", 0, says="--threads")
    refused("run", model, "--backend", "tpu", says="--backend")
    refused("run", model, "--approx", "nearly", says="nearly")
    refused("run", model, "--set", "n", says="SYM=N")
    refused("run", model, "--set", "n=-1", says="SYM=N")
    refused("run", model, "--set", "n=1", "--set", "n=2", says="twice")
    refused("run", model, "--stop-after", "nothing", says=["nothing", "canonicalize"])
    refused("run", model, "--disable", "nothing", says=["nothing", "canonicalize"])
    refused("run", model, "--backend", "cuda", says="CUDA")
    refused("run", model, "--device", "cuda", says="CUDA")
    refused("run", model, "--kernel", "sdpa:nothing", says="sdpa:nothing")
    refused("run", model, says="sdpa:nothing", environment={"ENGINE_KERNEL": "sdpa:nothing"})
    refused("test", says="DIR")


@test
def files_that_are_no_models(folder):
    refused("run", folder / "none.onnx", says="none.onnx")
    refused("run", folder, says=str(folder))
    for command in ("run", "dump", "explain", "bench"):
        for name, content in {"empty": b"", "text": b"hello", "zeros": bytes(1000),
                              "dump": b"engine-ir 1\n%x = frob()\n"}.items():
            path = folder / f"{name}.onnx"
            path.write_bytes(content)
            refused(command, path, says=f"{name}.onnx")


@test
def damaged_models(folder):
    rng = random.Random(1)
    good = (DECODE / "model.onnx").read_bytes()
    path = folder / "m.onnx"
    for length in [*range(0, len(good), max(1, len(good) // 25))]:
        path.write_bytes(good[:length])
        engine("dump", path)
    for _ in range(60):
        damaged = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        path.write_bytes(damaged)
        assert engine("run", path, "--input-from-bundle", DECODE / "io.npz").status != 3


@test
def run_and_compare(folder):
    model = add_model(folder / "m.onnx")
    np.savez(folder / "in.npz", x=np.arange(3, dtype=np.float32))
    result = accepted("run", model, "--input-from-bundle", folder / "in.npz", "--save-outputs", folder / "out.npz")
    assert "y  f32[3]  from 1 to 3" in result.out, result.out
    with np.load(folder / "out.npz") as saved:
        assert list(saved) == ["y"] and saved["y"].dtype == np.float32
        assert saved["y"].tolist() == [1, 2, 3]
    feed = ["run", model, "--input-from-bundle", folder / "in.npz", "--assert-output-bundle"]
    accepted(*feed, folder / "out.npz")
    np.savez(folder / "bad.npz", y=np.array([1, 2.5, 5], np.float32))
    result = engine(*feed, folder / "bad.npz")
    assert result.status == 1
    for text in ("output 'y'", "2 of 3", "[1]", "2.5", "largest error is 2"):
        assert text in result.err, result.err
    accepted(*feed, folder / "bad.npz", "--approx", "2,0")
    np.savez(folder / "bad.npz", y=np.ones((3, 1), np.float32))
    assert "expected f32[3, 1]" in engine(*feed, folder / "bad.npz").err
    np.savez(folder / "bad.npz", **{"in:x": np.ones(3, np.float32)})
    assert engine(*feed, folder / "bad.npz").status == 1
    # A default can be overridden, and prefixes name things.
    np.savez_compressed(folder / "in.npz", **{"in:x": np.zeros(2, np.float32), "w": np.full(1, 7, np.float32),
                                   "out:y": np.full(2, 7, np.float32), "cmp:y": np.ones(2, bool)})
    accepted("run", model, "--input-from-bundle", folder / "in.npz", "--assert-output-bundle", folder / "in.npz")


@test
def feeds_that_are_refused(folder):
    model = add_model(folder / "m.onnx")
    bundle = folder / "in.npz"
    run = ("run", model, "--input-from-bundle", bundle)

    def feed(**arrays):
        np.savez(bundle, **arrays)

    refused("run", model, says="'x'")
    refused(*run, says="in.npz")
    feed(z=np.zeros(1, np.float32))
    refused(*run, says="'z'")
    feed(**{"out:z": np.zeros(1, np.float32)})
    refused(*run, says="'out:z'")
    feed(x=np.zeros(1, np.float64))
    refused(*run, says=["'x'", "double", "--cast-inputs"])
    accepted(*run, "--cast-inputs")
    feed(x=np.zeros(1, np.int32))
    refused(*run, "--cast-inputs", says=["'x'", "int32"])
    feed(x=np.zeros((1, 1), np.float32))
    refused(*run, says="'x'")
    feed(x=np.zeros(3, np.float32), w=np.zeros(2, np.float32))
    refused(*run, says="'w'")
    feed(x=np.zeros(3, np.float32))
    refused(*run, "--set", "n=4", says="'x'")
    refused(*run, "--save-outputs", folder / "no" / "out.npz", says="out.npz")
    refused(*run, "--save-outputs", "/dev/full", says="/dev/full")


def npy(header, payload=b"", major=1):
    text = header.encode("latin1")
    length = struct.pack("<H", len(text)) if major == 1 else struct.pack("<I", len(text))
    return b"\x93NUMPY" + bytes([major, 0]) + length + text + payload


def zipped(path, entries, method=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in entries:
            archive.writestr(name, content)


@test
def bundles_that_are_damaged(folder):
    model = add_model(folder / "m.onnx")
    bundle = folder / "in.npz"
    run = ("run", model, "--input-from-bundle", bundle)
    simple = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"

    def attempt(content, says, name="x.npy"):
        zipped(bundle, [(name, content)])
        refused(*run, says=says)

    zipped(bundle, [("x.npy", npy(simple, bytes(8)))])
    accepted(*run)
    for major in (2, 3):
        zipped(bundle, [("x.npy", npy(simple, bytes(8), major))])
        accepted(*run)
    attempt(npy(simple, bytes(8)), "x.txt", name="x.txt")
    attempt(b"", "'x'")
    attempt(npy(simple, bytes(7)), "'x'")
    attempt(npy(simple, bytes(9)), "'x'")
    attempt(npy(simple, bytes(8), major=4), "version")
    attempt(npy(simple.replace("(2,)", "(4611686018427387904, 4)")), "too many")
    attempt(npy(simple.replace("(2,)", "(9223372036854775808,)")), "63 bits")
    attempt(npy(simple.replace("<f4", "|O")), "'|O'")
    attempt(npy("{" * 3000), "malformed")
    zipped(bundle, [("x.npy", npy(simple, bytes(8))), ("x.npy", npy(simple, bytes(8)))])
    refused(*run, says="twice")
    zipped(bundle, [("x.npy", npy(simple.replace("(2,)", "(50000000,)"), bytes(200_000_000)))],
           zipfile.ZIP_DEFLATED)
    whole = bundle.read_bytes()
    accepted(*run)
    bundle.write_bytes(whole.replace(struct.pack("<I", 200_000_000 + len(npy(simple.replace("(2,)", "(50000000,)")))),
                                     struct.pack("<I", 0xfffffff0)))
    refused(*run, says="'x'")
    content = io.BytesIO()
    np.savez(content, x=np.ones(2, np.float32))
    good, rng = content.getvalue(), random.Random(2)
    for _ in range(60):
        damaged = bytearray(good)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        bundle.write_bytes(damaged[: rng.choice([len(damaged), rng.randrange(len(damaged))])])
        assert engine(*run).status in (0, 2)


@test
def bundles_of_other_layouts(folder):
    path = save_model(folder / "m.onnx", [helper.make_node("Identity", ["x"], ["y"])],
                      [value("x", TensorProto.INT64, ["a", "b", "c"])], [value("y", TensorProto.INT64, ["a", "b", "c"])])
    array = np.arange(24).reshape(2, 3, 4)
    for given in (array, np.asfortranarray(array), array.astype(">i8"), array[:, ::2], np.zeros((2, 0, 3), np.int64)):
        np.savez(folder / "in.npz", x=given)
        accepted("run", path, "--input-from-bundle", folder / "in.npz", "--save-outputs", folder / "out.npz")
        with np.load(folder / "out.npz") as saved:
            assert saved["y"].shape == given.shape and (saved["y"] == given).all()
    np.savez(folder / "in.npz", x=np.zeros((1,) * 10, np.int64))
    refused("run", path, "--input-from-bundle", folder / "in.npz", says="input 'x': has 10 axes")


@test
def random_inputs_and_memory(folder):
    first = accepted("run", DECODER / "model.onnx", "--random-inputs", 7, "--set", "kv_cache_dim=16")
    again = accepted("run", DECODER / "model.onnx", "--random-inputs", 7, "--set", "kv_cache_dim=16")
    assert first.out == again.out and "logits  f32[1, 4, 320]" in first.out, first.out
    assert "sequence_length = 4" in first.err
    other = accepted("run", DECODER / "model.onnx", "--random-inputs", 8, "--set", "kv_cache_dim=16",
                     "--set", "sequence_length=2")
    assert "logits  f32[1, 2, 320]" in other.out
    refused("run", DECODER / "model.onnx", "--random-inputs", 7, "--set", "kv_cache_dim=16", "--max-memory", 1000,
            says="memory")


@test
def ways_to_run_agree(folder):
    run = ("run", DECODE / "model.onnx", "--input-from-bundle", DECODE / "io.npz", "--assert-output-bundle",
           DECODE / "io.npz")
    for more in ([], ["--round-trip"], ["--stop-after", "import"], ["--disable", "cse"], ["--backend", "reference"],
                 ["--threads", 1], ["--isa", "base"], ["--no-pack"], ["--exact"], ["--kernel", "sdpa:reference"],
                 ["--set", "batch=2"]):
        accepted(*run, *more)
    accepted(*run, environment={"ENGINE_KERNEL": "sdpa:reference"})
    refused(*run, "--disable", "import", says="the passes are: canonicalize, ")
    refused(*run, "--stop-after", "nothing", says="the passes are: import, canonicalize, ")
    refused(*run, "--approx", "near", says="tolerance 'near'")
    shared = CASES / "gqa_shared_buffer_decode"
    accepted("run", shared / "model.onnx", "--input-from-bundle", shared / "io.npz", "--assert-output-bundle",
             shared / "io.npz", "--state-in-place")


@test
def dump_and_run_again(folder):
    text = accepted("dump", DECODER / "model.onnx").out
    assert text.startswith("engine-ir 1\n")
    (folder / "m.ir").write_text(text)
    run = ("--input-from-bundle", DECODER / "io.npz", "--assert-output-bundle", DECODER / "io.npz")
    accepted("run", folder / "m.ir", "--weights", DECODER, *run)
    refused("run", folder / "m.ir", *run, says=["model.onnx.data", "--weights"])
    assert accepted("dump", folder / "m.ir", "--weights", DECODER).out.count("\n") > 10
    after = accepted("dump", DECODER / "model.onnx", "--after", "kv_state").out
    (folder / "after.ir").write_text(after)
    accepted("run", folder / "after.ir", "--weights", DECODER, *run)
    refused("dump", DECODER / "model.onnx", "--after", "nothing", says="nothing")
    dumped = json.loads(accepted("dump", DECODER / "model.onnx", "--json").out)
    assert {"input_ids", "attention_mask"} <= {v["name"] for v in dumped["inputs"]}
    assert any(n["op"] == "sdpa" for n in dumped["nodes"])
    summary = json.loads(accepted("dump", DECODER / "model.onnx", "--summary", "--json").out)
    assert summary["operators"]["sdpa"] == 2 and summary["parameters"] > 10000
    assert "sdpa" in accepted("dump", DECODER / "model.onnx", "--summary").out


@test
def blockers_come_together(folder):
    model = save_model(folder / "m.onnx",
                       [helper.make_node("Frobnicate", ["x"], ["a"], name="first"),
                        helper.make_node("Relu", ["a"], ["b"], name="middle"),
                        helper.make_node("Twiddle", ["b"], ["y"], name="second")],
                       [value("x", TensorProto.FLOAT, [2])], [value("y", TensorProto.FLOAT, [2])])
    for command in ("run", "dump", "explain", "bench"):
        result = refused(command, model, says=["Frobnicate", "Twiddle", "'first'", "'second'"])
        lines = [line for line in result.err.splitlines() if line.startswith(f"error: {model}: ")]
        assert len(lines) == 2, result.err
    assert "unsupported" in engine("dump", model).out


@test
def explain_names_kernels(folder):
    text = accepted("explain", DECODER / "model.onnx").out
    assert "2 attention nodes" in text and "1 token over 1024" in text and "causal" in text, text
    assert re.search(r"^    cpu +\w+", text, re.M) and re.search(r"^    reference +reference", text, re.M)
    explained = json.loads(accepted("explain", DECODER / "model.onnx", "--json").out)
    for node in explained["nodes"]:
        assert [b["backend"] for b in node["backends"]] == ["cpu", "reference"]
        assert all(b["kernel"] for b in node["backends"])
    bundle = accepted("explain", DECODER / "model.onnx", "--input-from-bundle", DECODER / "io_step1.npz").out
    assert "1024" not in bundle, bundle


@test
def spelled_out_attention_is_one_node(folder):
    bands = {"spelled_optimum": "causal", "spelled_torch_causal": "causal", "tiny_decomposed": "causal"}
    cases = sorted(case.name for case in CASES.glob("spelled_*")) + ["tiny_decomposed"]
    assert len(cases) > 9
    for case in cases:
        model = CASES / case / "model.onnx"
        text = accepted("explain", model).out
        assert text.startswith("1 attention node\n") and bands.get(case, "every key") in text, f"{case}: {text}"
        for line in ("band", "query 0 at", "bias", "mask", "keyLen"):
            assert re.search(rf"^    {line} ", text, re.M), f"{case}: no {line} in {text}"
        assert "softmax" not in accepted("dump", "--after", "attention", model).out.replace("Softmax", ""), case
        assert " softmax(" in accepted("dump", "--after", "cse", model).out, case


@test
def operators_are_listed(folder):
    rows = json.loads(accepted("ops", "--json").out)
    gqa = [r for r in rows if r["operator"] == "GroupQueryAttention"]
    assert gqa and gqa[0]["domain"] == "com.microsoft" and gqa[0]["attributes"]
    assert "com.microsoft.GroupQueryAttention" in accepted("ops").out


@test
def bench_measures(folder):
    bench = ("bench", DECODE / "model.onnx", "--input-from-bundle", DECODE / "io.npz", "--warmup", 1, "--runs", 3)
    assert "median" in accepted(*bench).out
    result = json.loads(accepted(*bench, "--json", "--profile", "--threads", 1, "--trace", folder / "t.json").out)
    for key in "median_ms min_ms p90_ms runs threads backend peak_rss_mb load_ms nodes".split():
        assert key in result, key
    assert result["runs"] == 3 and result["threads"] == 1
    assert all({"name", "op", "kernel", "ms", "share"} <= set(node) for node in result["nodes"])
    assert any(node["op"] == "sdpa" for node in result["nodes"])
    assert json.loads((folder / "t.json").read_text())["traceEvents"]
    shared = CASES / "gqa_shared_buffer_decode"
    accepted("bench", shared / "model.onnx", "--input-from-bundle", shared / "io.npz", "--state-in-place",
             "--runs", 5)


PROMPT = "5,17,99,200,33,64,7,123,42,11,250,77"
GREEDY = [112, 156, 6, 268, 70, 126, 169, 178]  # onnxruntime's


@test
def generation(folder):
    run = ("generate", DECODER, "--prompt-ids", PROMPT, "-n", 8)
    text = accepted(*run)
    assert text.out == ",".join(map(str, GREEDY)) + "\n", text.out
    assert "prefill 12 tokens" in text.err and "decode 7 tokens" in text.err, text.err
    result = json.loads(accepted(*run, "--json", "--chunk", 5).out)
    assert result["tokens"] == GREEDY and result["stop"] == "count" and result["prompt_tokens"] == 12
    assert result["prefill_tokens_per_s"] > 0 and result["decode_tokens_per_s"] > 0 and result["load_ms"] > 0
    drawn = [json.loads(accepted(*run, "--json", "--temperature", 2, "--top-k", 50, "--seed", seed).out)["tokens"]
             for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def greedy_pair(folder, prompt, count):
    """What onnxruntime makes of prefill.onnx and decode.onnx, token by token."""
    prefill, decode = (onnxruntime.InferenceSession(str(folder / f"{name}.onnx")) for name in ("prefill", "decode"))
    ids, names = np.array([prompt]), [output.name for output in prefill.get_outputs()]
    feed = {"input_ids": ids, "position_ids": np.arange(len(prompt))[None]}
    outputs = dict(zip(names, prefill.run(names, feed)))
    tokens = []
    for position in range(len(prompt), len(prompt) + count):
        tokens.append(int(outputs["logits"][0, -1].argmax()))
        feed = {"input" + "." + name: value for name, value in outputs.items() if name.startswith("cache.")}
        feed |= {"input_ids": np.array([[tokens[-1]]]), "position_ids": np.array([[position]])}
        outputs = dict(zip(names, decode.run(None, feed)))
    return tokens


@test
def generation_with_a_prefill_and_a_decode_model(folder):
    for name in ("prefill", "decode"):
        case = CASES / f"hf_llama_{name}"
        shutil.copy(case / "model.onnx", folder / f"{name}.onnx")
        shutil.copy(case / f"{name}.onnx.data", folder)
    prompt = [5, 17, 33, 64, 7]
    result = json.loads(accepted("generate", folder, "--prompt-ids", ",".join(map(str, prompt)), "-n", 8, "--json").out)
    assert result["tokens"] == greedy_pair(folder, prompt, 8), result


@test
def generation_that_is_refused(folder):
    run = ("generate", DECODER, "--prompt-ids")
    refused(*run, "1,x", says="--prompt-ids")
    refused(*run, "1,-2", says="is no token id")
    refused(*run, "", says="the prompt is empty")
    refused(*run, "5,100000", says="100000")
    refused(*run, "5", "--top-p", 2, says="top-p")
    refused(*run, "5", "--temperature", -1, says="temperature")
    refused(*run, "5", "--chunk", 0, says="--chunk")
    refused(*run, PROMPT, "--max-memory", 1000, says="out of memory")
    refused("generate", folder / "none", "--prompt-ids", 1, says="it is no folder")
    refused("generate", folder, "--prompt-ids", 1, says="looked for genai_config.json")
    refused("generate", CASES / "rms_norm", "--prompt-ids", 1, says="is not recognised; looked for")


def write_onnx_case(folder, expected, tolerance=None):
    """y = x + w as the ONNX project's tests are written."""
    add_model(folder / "model.onnx")
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    for name, array in (("input_0", np.array([1, 2], np.float32)), ("output_0", np.array(expected, np.float32))):
        (data / f"{name}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
    if tolerance:
        (folder / "tol.json").write_text(json.dumps(tolerance))


@test
def test_directories(folder):
    good, bad, loose = folder / "good", folder / "bad", folder / "loose"
    for case in (good, bad, loose):
        case.mkdir()
    write_onnx_case(good, [2, 3])
    write_onnx_case(bad, [2, 4])
    write_onnx_case(loose, [2, 4], {"rtol": 0, "atol": 1})
    result = accepted("test", good, loose, DECODE, CASES / "genai_llama")
    assert result.out.endswith("4 passed, 0 failed\n"), result.out
    result = engine("test", good, bad, folder / "none", folder)
    assert result.status == 1 and result.out.endswith("1 passed, 3 failed\n"), result.out
    assert "output 'y': 1 of 2 elements are off" in result.out
    (good / "test_data_set_0" / "input_0.pb").write_bytes(b"\xff\xff")
    assert "input_0.pb" in engine("test", good).out
    result = accepted("test", "--ways", DECODE)
    assert result.out.endswith("4 passed, 0 failed\n"), result.out
    result = engine("test", "--ways", folder / "none", DECODE)
    assert result.status == 1 and result.out.endswith("4 passed, 4 failed\n"), result.out


@test
def output_that_nobody_takes(folder):
    with open("/dev/full", "wb") as full:
        refused("dump", DECODER / "model.onnx", stdout=full, says="standard output")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        accepted("dump", DECODER / "model.onnx", stdout=writer)
    finally:
        os.close(writer)


def main():
    passed = failed = 0
    for function in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                function(Path(folder))
                passed += 1
            except Exception as error:  # each on its own
                failed += 1
                print(f"{function.__name__}: FAILED: {type(error).__name__}: {error}")
    print(f"command line: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
