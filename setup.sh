#!/usr/bin/env bash
# Installs what is missing, makes .venv, configures and builds build/engine. Quick when nothing changed.
# On Debian 12 as root packages are installed; anywhere else they are listed, and the build goes on if
# nothing that it needs is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

say() { echo "setup: $*"; }
die() { echo "setup: error: $*" >&2; exit 1; }

# --- Packages: what for, how to see that it is there, Debian/Ubuntu name, Fedora name.
# cmd:A|B  one of the commands; hdr:H  a header g++ finds; file:GLOB|GLOB  a file; py:M,N  Python modules.
packages='
build cmd:g++                                   g++                      gcc-c++
build cmd:cmake                                 cmake                    cmake
build cmd:ninja                                 ninja-build              ninja-build
build cmd:pkg-config                            pkg-config               pkgconf-pkg-config
build cmd:protoc                                protobuf-compiler        protobuf-compiler
build hdr:google/protobuf/message_lite.h        libprotobuf-dev          protobuf-devel
build file:/usr/lib/llvm-*/lib/libLLVMSupport.a|/usr/lib*/libLLVMSupport.a|/usr/lib*/llvm*/lib*/libLLVMSupport.a llvm-14-dev llvm-devel,llvm-static
build hdr:zlib.h                                zlib1g-dev               zlib-devel
build hdr:zip.h                                 libzip-dev               libzip-devel
build hdr:hwy/highway.h                         libhwy-dev               highway-devel
build hdr:CLI/CLI.hpp                           libcli11-dev             cli11-devel
build hdr:nlohmann/json.hpp                     nlohmann-json3-dev       json-devel
build hdr:doctest/doctest.h                     doctest-dev              doctest-devel
build cmd:python3                               python3                  python3
build py:venv,ensurepip                         python3-venv             python3
tests cmd:clang++-14|clang++                    clang-14                 clang
tests file:/usr/lib/llvm-*/lib/libomp.so|/usr/lib*/libomp.so libomp-14-dev libomp-devel
tests file:/usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.asan*|/usr/lib*/clang/*/lib/*/libclang_rt.asan* libclang-rt-14-dev compiler-rt
tests hdr:benchmark/benchmark.h                 libbenchmark-dev         google-benchmark-devel
speed cmd:ccache                                ccache                   ccache
'

present() {  # PROBE
  local what=${1#*:} item
  case $1 in
    cmd:*) IFS='|' read -ra items <<<"$what"
           for item in "${items[@]}"; do command -v "$item" >/dev/null && return 0; done; return 1 ;;
    file:*) IFS='|' read -ra items <<<"$what"
            for item in "${items[@]}"; do compgen -G "$item" >/dev/null && return 0; done; return 1 ;;
    hdr:*) command -v g++ >/dev/null &&
           echo "#if !__has_include(<$what>)
#error
#endif" | g++ -std=c++20 -E -x c++ - >/dev/null 2>&1 ;;
    py:*) command -v python3 >/dev/null && python3 -c "import $what" 2>/dev/null ;;
  esac
}

# Sets `missing` to the table's rows whose probe fails.
find_missing() {
  missing=()
  local row purpose probe rest
  while IFS= read -r row; do
    read -r purpose probe rest <<<"$row"
    [[ -z $purpose ]] || present "$probe" || missing+=("$row")
  done <<<"$packages"
}

find_missing
if ((${#missing[@]})); then
  id=$(. /etc/os-release 2>/dev/null && echo "${ID:-} ${VERSION_ID:-}" || true)
  if [[ $id == "debian 12" && $EUID == 0 ]]; then
    names=$(for row in "${missing[@]}"; do awk '{print $3}' <<<"$row"; done)
    say "installing packages:" $names
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    apt="apt-get -qq -o DPkg::Lock::Timeout=300"
    { $apt update && $apt install -y --no-install-recommends $names; } >"$log" 2>&1 </dev/null ||
      { tail -n 20 "$log" >&2; die "apt-get could not install the packages (above)"; }
    rm -f "$log"
    find_missing
  fi
fi
if ((${#missing[@]})); then
  needed=0
  echo "setup: missing (name on Debian and Ubuntu | name on Fedora):" >&2
  for row in "${missing[@]}"; do
    read -r purpose probe debian fedora <<<"$row"
    case $purpose in
      build) note="needed"; needed=$((needed + 1)) ;;
      tests) note="only for some of the tests" ;;
      *) note="only for speed" ;;
    esac
    printf '  %-22s | %-22s %s\n' "$debian" "${fedora//,/ }" "$note" >&2
  done
  ((needed == 0)) || die "install the packages marked 'needed' and run ./setup.sh again"
fi

# --- The virtual environment: oneDNN and the ONNX schema for the build, onnxruntime for the tests.
python=.venv/bin/python
if [[ -d .venv ]] && ! $python -c '' 2>/dev/null; then
  say "the virtual environment in .venv does not run: making it anew"
  rm -rf .venv
fi
if ! cmp -s requirements.txt .venv/requirements.installed; then
  [[ -d .venv ]] || { say "making the virtual environment .venv"; python3 -m venv .venv; }
  say "installing the Python packages of requirements.txt into .venv"
  $python -m pip install --quiet --disable-pip-version-check -r requirements.txt ||
    die "pip could not install requirements.txt (above)"
  cp requirements.txt .venv/requirements.installed
fi

# --- Configure and build.
command -v nvcc >/dev/null || say "nvcc not found: the CUDA backend is left out"
cache=build/CMakeCache.txt
stamp=build/configured
if [[ -f $cache ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
  say "build/ belongs to a tree in another place: configuring anew"
  rm -rf build
fi
# A package or a compiler that appeared since is not noticed by ninja; what is on this list is.
state=$(cat CMakePresets.json requirements.txt; command -v g++ nvcc ccache || true)
if [[ ! -f build/build.ninja || ! -f $stamp || $(<"$stamp") != "$state" ]]; then
  say "configuring build/"
  mkdir -p build
  cmake --preset default >build/configure.log 2>&1 ||
    { tail -n 30 build/configure.log >&2; die "CMake could not configure (above; build/configure.log)"; }
  printf '%s\n' "$state" >"$stamp"
fi
say "building build/engine"
quiet=--quiet
[[ -t 1 ]] && quiet=
ninja -C build $quiet -j "${ENGINE_JOBS:-2}" engine || die "the build failed (above)"
say "build/engine is ready"
