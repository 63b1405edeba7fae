#!/usr/bin/env python3
"""Writes what the documentation says about supported operators, from `engine ops --json` and the test cases.

usage: gen_docs.py [--check] [ENGINE]     docs/support.md, and the table in README.md between its markers

A mode is what a case directory pins: the first paragraph of its generate.py. What is refused is shown with the message that
the engine gives.

--check changes nothing: it prints what is out of date and closes with `N passed, N failed`.
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "<!-- operators: begin (tools/gen_docs.py) -->"
END = "<!-- operators: end -->"


def versions(row):
    since, until = row["since"], row["until"]
    if until is None:
        return f"{since}+"
    return str(since) if since == until else f"{since}-{until}"


def cell(text):
    return text.replace("|", "\\|") or "-"


def by_operator(rows):
    """(domain, operator) -> rows, in the rows' order."""
    result = {}
    for row in rows:
        result.setdefault((row["domain"], row["operator"]), []).append(row)
    return result


def readme_table(rows):
    """One line a domain: its operators with their versions."""
    lines = ["| domain | operators (versions) |", "|---|---|"]
    domains = {}
    for (domain, operator), group in by_operator(rows).items():
        domains.setdefault(domain, []).append(f"{operator} ({', '.join(map(versions, group))})")
    lines += [f"| {domain} | {cell(', '.join(names))} |" for domain, names in domains.items()]
    return "\n".join(lines)


def support_page(rows):
    lines = ["# Operators", "",
             "Written by `tools/gen_docs.py` from `engine ops --json`; do not edit.", "",
             "Types are those of the first input. An attribute that is not listed is refused."]
    domain = None
    for (owner, operator), group in by_operator(rows).items():
        if owner != domain:
            domain = owner
            lines += ["", f"## {domain}", "", "| operator | versions | types | attributes | refused |",
                      "|---|---|---|---|---|"]
        for row in group:
            attributes = ", ".join(f"{a['name']} ({a['type']})" for a in row["attributes"])
            types = ", ".join(row["types"]) or "any"
            cells = (operator, versions(row), types, attributes, row["refused"])
            lines.append("| " + " | ".join(map(cell, cells)) + " |")
    return "\n".join(lines) + "\n"


# Sections of modes: title, and the first words of the names of its cases.
MODES = [
    ("com.microsoft.GroupQueryAttention", ["gqa"]),
    ("com.microsoft.MultiHeadAttention", ["mha"]),
    ("ai.onnx.Attention", ["attention", "gemma4"]),
    ("Rotary embedding", ["rotary", "contrib_rotary"]),
    ("ai.onnx.TensorScatter", ["scatter"]),
    ("Norms", ["rms", "simplified", "skip"]),
]


def case_directories(prefixes):
    folders = sorted(p.parent for p in (ROOT / "test_cases").glob("*/case.txt"))
    return [f for f in folders if any(f.name == p or f.name.startswith(p + "_") for p in prefixes)]


def description(folder):
    """The first paragraph of the docstring that says what the case pins, in one line."""
    tree = ast.parse((folder / "generate.py").read_text(encoding="utf-8"))
    return " ".join((ast.get_docstring(tree) or "").split("\n\n")[0].split())


def refusal(engine, folder):
    """The engine's message, without the folder."""
    command = [engine, "run", f"test_cases/{folder.name}/model.onnx"]
    if (folder / "io.npz").exists():
        command += ["--input-from-bundle", f"test_cases/{folder.name}/io.npz"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if run.returncode != 2:
        raise SystemExit(f"{folder.name}: expected a refusal, exit status is {run.returncode}")
    lines = [line for line in run.stderr.splitlines() if line.startswith("error: ")]
    first = re.sub(re.escape(f"test_cases/{folder.name}/") + r"(model\.onnx: )?", "", lines[0])
    return first.removeprefix("error: ")


def modes_page(engine):
    lines = ["", "# Modes", "", "Each line is a test case, and what it pins."]
    for title, prefixes in MODES:
        lines += ["", f"## {title}: supported", "", "| mode | case |", "|---|---|"]
        lines += [f"| {cell(description(f))} | `{f.name}` |" for f in case_directories(prefixes)]
    lines += ["", "## Refused", "", "| what | message | case |", "|---|---|---|"]
    for folder in case_directories(["refuse"]):
        cells = (description(folder), "`" + refusal(engine, folder) + "`", f"`{folder.name}`")
        lines.append("| " + " | ".join(map(cell, cells)) + " |")
    return "\n".join(lines) + "\n"


def readme_with(table):
    """README.md with the table in its place."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(BEGIN) > text.index(END):
        raise SystemExit(f"README.md: expected the markers\n{BEGIN}\n{END}")
    head, rest = text.split(BEGIN)
    return head + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1]


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    paths = [a for a in arguments if a != "--check"]
    engine = str(Path(paths[0] if paths else ROOT / "build" / "engine").resolve())
    listing = subprocess.run([engine, "ops", "--json"], capture_output=True, text=True, check=True)
    rows = json.loads(listing.stdout)
    wanted = {
        "docs/support.md": support_page(rows) + modes_page(engine),
        "README.md": readme_with(readme_table(rows)),
    }
    stale = []
    for name, text in wanted.items():
        path = ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if check:
            stale.append(name)
            print(f"{name} is out of date: run tools/gen_docs.py")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    if check:
        print(f"generated documentation: {len(wanted) - len(stale)} passed, {len(stale)} failed")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
