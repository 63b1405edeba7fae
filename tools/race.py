#!/usr/bin/env python3
"""Times the engine against onnxruntime on one model, in turns, and prints the ratio.

usage: race.py {fp32,int4} ROWS PAST [--threads N] [--runs N] [--work FOLDER]

The model is a Llama of 117 M parameters as onnxruntime-genai's builder writes it (12 layers, hidden size 768, 12 heads on 4
KV heads of 64 channels, 32,000 tokens, random weights; logits of all positions). ROWS new tokens on PAST cached ones. int4:
MatMulNBits, blocks of 32, accuracy_level 4.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from test_cases.lib import tiny

LAYERS = 12


def build(kind, path):
    tiny.resize(HIDDEN=768, HEADS=12, KV_HEADS=4, HEAD_SIZE=64, TOKENS=32000, MLP=3072, POSITIONS=4096)
    matmul = tiny.int4_matmul(32, False) if kind == "int4" else None
    model = tiny.genai_decoder(np.random.default_rng(0), LAYERS, matmul)
    for node in model.graph.node:
        if node.op_type == "MatMulNBits":
            kept = [a for a in node.attribute if a.name != "accuracy_level"]
            del node.attribute[:]
            node.attribute.extend(kept + [onnx.helper.make_attribute("accuracy_level", 4)])
    onnx.save(model, path, save_as_external_data=True, location=path.name + ".data")


def make_feeds(session, rows, past):
    rng = np.random.default_rng(1)
    feeds = {"input_ids": rng.integers(0, 32000, (1, rows)), "attention_mask": np.ones((1, past + rows), np.int64)}
    for value in session.get_inputs():
        if value.name not in feeds:
            feeds[value.name] = rng.standard_normal((1, 4, past, 64)).astype(np.float32)
    return feeds


def time_onnxruntime(session, feeds, runs):
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    for output in session.get_outputs():
        binding.bind_output(output.name, "cpu")
    times = []
    for _ in range(runs + 1):
        start = time.perf_counter()
        session.run_with_iobinding(binding)
        times.append(1e3 * (time.perf_counter() - start))
    return times[1:]


def time_engine(model, bundle, threads, runs):
    command = [ROOT / "build" / "engine", "bench", model, "--threads", threads, "--input-from-bundle", bundle,
               "--state-in-place", "--warmup", 1, "--runs", runs, "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=["fp32", "int4"])
    parser.add_argument("rows", type=int)
    parser.add_argument("past", type=int)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "race")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    model = options.work / f"{options.kind}.onnx"
    if not model.exists():
        build(options.kind, model)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
    feeds = make_feeds(session, options.rows, options.past)
    bundle = options.work / "feeds.npz"
    np.savez(bundle, **feeds)
    theirs, ours = [], []
    for _ in range(3):  # in turns: what else the machine does meets both
        theirs += time_onnxruntime(session, feeds, options.runs)
        ours.append(time_engine(model, bundle, options.threads, options.runs))
    engine = min(result["median_ms"] for result in ours)
    other = float(np.median(theirs))
    print(f"{options.kind} rows {options.rows} past {options.past} threads {options.threads}: "
          f"engine {engine:.2f} ms, onnxruntime {other:.2f} ms, ratio {other / engine:.2f}, "
          f"load {ours[-1]['load_ms']:.0f} ms, peak {ours[-1]['peak_rss_mb']:.0f} MB")


if __name__ == "__main__":
    main()
