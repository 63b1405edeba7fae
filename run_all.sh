#!/usr/bin/env bash
# Runs setup.sh, builds everything and runs every test suite. Closes with `N passed, N failed`.
#   ./run_all.sh [--deep] [--only NAME]... [--list]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit

# --- The suites: name, limit in seconds, command. A suite prints any number of lines that end in
# `N passed, N failed`, which are added up; leaving with an error or counting nothing is a failure.
# A command sees DEEP=1 under --deep. Suites of the second table run only under --deep or --only.
suites='
unit      300  unit_tests build
cases     600  test_cases
steady     60  build/test_steady test_cases/genai_llama test_cases/mobius_llama_attention test_cases/mobius_llama_static test_cases/genai_gemma2
cuda      360  .venv/bin/python tests/cuda/run.py build
nodes     180  .venv/bin/python tests/onnx_node_suite.py build/engine
calls     300  .venv/bin/python -m tests.differential build/test_differential
memory     60  build/test_memory_flat
faults    300  .venv/bin/python tools/plant_faults.py --deep
reference 120  check self_test .venv/bin/python -m tests.reference.selftest
layers     60  .venv/bin/python tests/check_layers.py build
cli       120  .venv/bin/python tests/cli_test.py build/engine
docs       60  .venv/bin/python tools/gen_docs.py --check build/engine
clang     600  clang_warnings
examples  240  embedding
'
deep_suites='
asan      900  sanitized asan
'

check() {  # WHAT COMMAND...: one check, counted
  local what=$1; shift
  if "$@"; then echo "$what: 1 passed, 0 failed"; else echo "$what: 0 passed, 1 failed"; return 1; fi
}

unit_tests() {  # BUILD_DIR: doctest's own summary, and the same as a count of test cases
  "$1/unit_tests" 2>&1 |
    sed -uE 's/^(\[doctest\] test cases: *[0-9]+ *\| *([0-9]+) passed *\| *([0-9]+) failed.*)/\1\n\2 passed, \3 failed/'
}

test_cases() {
  shopt -s nullglob
  local dirs=() dir
  for dir in test_cases/*/; do
    [[ $dir == test_cases/lib/ || $dir == */__pycache__/ ]] || dirs+=("$dir")
  done
  ((${#dirs[@]})) || { echo "no directories in test_cases/"; return 1; }
  build/engine test --ways "${dirs[@]}"
}

configure_clang() {  # PRESET
  local compiler=()
  command -v clang++-14 >/dev/null || compiler=(-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++)
  cmake --preset "$1" "${compiler[@]}" >/dev/null
}

clang_build() {  # PRESET TARGET
  configure_clang "$1" && cmake --build --preset "$1" --target "$2" -- --quiet
}

clang_warnings() { check "clang, all warnings" clang_build clang-warnings layers; }

sanitized() { clang_build "$1" unit_tests && unit_tests "build-$1"; }

# The example of embedding, built by a user's own CMake against an installed package.
embedding() {
  local work example
  work=$(mktemp -d) || return 1
  trap "rm -rf '$work'" EXIT  # expanded now: the variable is gone when the shell leaves
  cmake --install build --prefix "$work/prefix" >/dev/null || return 1
  for example in examples/*/CMakeLists.txt; do
    example=$(dirname "$example")
    check "$example" run_example "$example" "$work" || return 1
  done
}

run_example() {  # DIRECTORY WORK
  local name build
  name=$(basename "$1")
  build=$2/$name
  cmake -S "$1" -B "$build" -G Ninja -DCMAKE_PREFIX_PATH="$2/prefix" >/dev/null &&
    cmake --build "$build" -- --quiet && "$build/$name"
}

# --- What runs a suite.
export DEEP=0
only=()
list=0
while (($#)); do
  case $1 in
    --deep) DEEP=1 ;;
    --only) [[ $# -ge 2 ]] || { echo "--only needs the name of a suite" >&2; exit 2; }; only+=("$2"); shift ;;
    --list) list=1 ;;
    # Internal: one suite in a shell of its own, so that `timeout` can end it with all its children.
    --suite) shift; "$@"; exit ;;
    *) echo "usage: ./run_all.sh [--deep] [--only NAME]... [--list]" >&2; exit 2 ;;
  esac
  shift
done

names=$(awk 'NF {print $1}' <<<"$suites$deep_suites")
if ((list)); then echo "$names"; exit 0; fi
for name in "${only[@]}"; do
  grep -qxF -- "$name" <<<"$names" || { echo "no suite '$name'; there are:" $names >&2; exit 2; }
done

passed=0
failed=0

run_suite() {  # NAME LIMIT COMMAND...
  local name=$1 limit=$2 start=$SECONDS log rc ok bad
  shift 2
  log=$(mktemp)
  timeout --kill-after=10 "$limit" ./run_all.sh --suite "$@" >"$log" 2>&1 </dev/null &
  wait $!
  rc=$?
  kill -KILL -- -$! 2>/dev/null  # whatever the suite left behind: timeout made it a process group
  read -r ok bad < <(awk 'match($0, /[0-9]+ passed, [0-9]+ failed$/) {
      split(substr($0, RSTART), n, /[^0-9]+/); ok += n[1]; bad += n[2] } END {print ok + 0, bad + 0}' "$log")
  local reason=""
  if ((rc == 124 || rc == 137)); then reason="ended after its limit of $limit s"
  elif ((rc != 0)); then reason="exit status $rc"
  elif ((bad)); then reason="failed tests"
  elif ((ok == 0)); then reason="it counted no test"; fi
  if [[ -n $reason ]]; then
    ((bad)) || bad=1
    echo "FAILED $name: $reason; the command was: $*"
    echo "  (again, alone: ./run_all.sh --only $name); the end of its output:"
    tail -n 30 "$log" | sed 's/^/  | /'
  fi
  printf '%-10s %4d s  %d passed, %d failed\n' "$name" $((SECONDS - start)) "$ok" "$bad"
  passed=$((passed + ok))
  failed=$((failed + bad))
  rm -f "$log"
}

finish() {
  echo "$passed passed, $failed failed"
  ((failed == 0 && passed > 0))
  exit
}

./setup.sh || { failed=1; finish; }
start=$SECONDS
log=$(mktemp)
if ! ninja -C build --quiet -j "${ENGINE_JOBS:-2}" >"$log" 2>&1; then
  echo "FAILED build; the command was: ninja -C build"
  tail -n 30 "$log" | sed 's/^/  | /'
  failed=$((failed + 1))  # what was built before is tested all the same
fi
rm -f "$log"
printf '%-10s %4d s\n' build $((SECONDS - start))

while read -r name limit command; do
  [[ -n $name ]] || continue
  if ((${#only[@]})); then
    [[ " ${only[*]} " == *" $name "* ]] || continue
  elif ! ((DEEP)) && grep -q "^$name " <<<"$deep_suites"; then
    continue
  fi
  run_suite "$name" "$limit" $command
done <<<"$suites$deep_suites"
finish
