#!/usr/bin/env python3
"""Translates PTX, as nvcc -ptx writes it, to C++ for the CUDA simulator (kernels/cuda/sim/ptx_runtime.h).

Every entry point becomes an engine::sim::Kernel of its name. An instruction, modifier or directive that is not in the
tables below is an error: nothing is guessed.
"""

import argparse
import bisect
import functools
import re
import sys
from pathlib import Path

BITS = {"b8": 8, "u8": 8, "s8": 8, "b16": 16, "u16": 16, "s16": 16, "b32": 32, "u32": 32, "s32": 32,
        "b64": 64, "u64": 64, "s64": 64, "f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32,
        "f32": 32, "f64": 64, "pred": 1}
C_TYPE = {"f32": "float", "f64": "double", "pred": "bool"}
C_TYPE.update({f"{k}{n}": f"{'' if k == 's' else 'u'}int{n}_t" for k in "bus" for n in (8, 16, 32, 64)})
C_TYPE.update({"f16": "uint16_t", "bf16": "uint16_t", "f16x2": "uint32_t", "bf16x2": "uint32_t"})
SPECIAL = {f"%{name}.{axis}": f"thisThread().{field}.{axis}"
           for name, field in (("tid", "thread"), ("ctaid", "block"), ("ntid", "blockSize"),
                               ("nctaid", "gridSize"))
           for axis in "xyz"}
SPECIAL["%laneid"] = "thisThread().lane"
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<",
           "ls": "<=", "hi": ">", "hs": ">="}
IGNORED = r"\.(loc|file|version|target|address_size|pragma|section|maxntid|minnctapersm)\b"
DIRECTIVE = re.compile(rf"{IGNORED}[^\n]*")
LABEL = re.compile(r"([$\w]+):")


class PtxError(Exception):
    pass


class Scope:
    """Names of one block: registers with their types; parents are searched outwards."""

    def __init__(self, parent=None):
        self.parent = parent
        self.registers = {}

    def type_of(self, name):
        scope = self
        while scope:
            if name in scope.registers:
                return scope.registers[name]
            scope = scope.parent
        return None


def c_name(ptx):
    return "v_" + re.sub(r"[^A-Za-z0-9_]", "_", ptx.replace("%", ""))


def split_operands(text):
    parts, depth, start = [], 0, 0
    for i, ch in enumerate(text):
        depth += (ch in "{[(") - (ch in "}])")
        if ch == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    parts.append(text[start:].strip())
    return [p for p in parts if p]


def vector(operand):
    return [x.strip() for x in operand[1:-1].split(",")] if operand.startswith("{") else [operand]


def is_float(t):
    return t in ("f32", "f64")


def half_kind(t):
    """Template arguments <is bf16, elements> of the 16-bit float helpers."""
    return f"<{'true' if t.startswith('bf') else 'false'}, {2 if t.endswith('x2') else 1}>"


def unsigned(t):
    return "u" + t[1:] if t[0] in "bus" and t != "pred" else t


class Kernel:
    """One entry point on its way to C++. Methods named op_* translate; TABLE says which and when."""

    def __init__(self, module, name):
        self.module = module
        self.name = name
        self.params = {}      # name -> offset
        self.param_bytes = 0
        self.arrays = {}      # .shared and .local: name -> C++ expression of the address
        self.static_shared = 0
        self.lines = []
        self.scope = Scope()
        self.line = 0
        self.max_threads = 1024

    # --- Operands.

    def read(self, operand, t):
        c = C_TYPE[t]
        if operand in SPECIAL:
            return f"({c}){SPECIAL[operand]}"
        number = re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", operand)
        if number:
            return f"bits<float>(0x{number[1]}u)" if t == "f32" else f"({c})0x{number[1]}u"
        number = re.fullmatch(r"0[dD]([0-9a-fA-F]{16})", operand)
        if number:
            return f"bits<double>(0x{number[1]}ull)" if t == "f64" else f"({c})0x{number[1]}ull"
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)U?", operand):
            digits = operand.rstrip("U")
            if digits == "-9223372036854775808":
                return f"({c})INT64_MIN"
            return f"({c})({digits}{'ll' if digits.startswith('-') else 'ull'})"
        if operand.startswith("!"):
            return f"(!{self.read(operand[1:], t)})"
        declared = self.scope.type_of(operand)
        if declared:
            name = c_name(operand)
            if is_float(declared) == is_float(t):
                return name if declared == t else f"({c}){name}"
            if BITS[declared] < BITS[t]:
                raise PtxError(f"register {operand} of .{declared} as .{t}")
            carrier = f"uint{BITS[declared]}_t"
            return f"bits<{c}>({name})" if is_float(t) else f"({c})bits<{carrier}>({name})"
        if operand in self.params:
            return f"({c})((uintptr_t)args + {self.params[operand]})"
        if operand in self.arrays:
            return f"({c})({self.arrays[operand]})"
        if operand in self.module.symbols:
            return f"({c})({self.module.symbols[operand]})"
        raise PtxError(f"unknown operand {operand}")

    def write(self, operand, t, value):
        if operand == "_":
            return f"(void)({value});"
        declared = self.scope.type_of(operand)
        if not declared:
            raise PtxError(f"unknown destination {operand}")
        name = c_name(operand)
        if declared == t:
            return f"{name} = {value};"
        if is_float(declared):
            return f"{name} = bits<{C_TYPE[declared]}>((uint{BITS[declared]}_t)({value}));"
        if is_float(t):
            return f"{name} = bits<uint{BITS[t]}_t>({value});"
        return f"{name} = ({C_TYPE[declared]})({value});"

    def address(self, operand, space):
        m = re.fullmatch(r"\[\s*([%$\w.]+)\s*(?:\+\s*(-?\w+))?\s*\]", operand)
        if not m:
            raise PtxError(f"address {operand}")
        base, offset = m[1], m[2] or "0"
        if space == "param" and base in self.params:
            return f"((const char *)args + {self.params[base]} + ({offset}))"
        if space == "shared":
            narrow = BITS.get(self.scope.type_of(base), 32) == 32
            return f"sharedAt((uint32_t)({self.read(base, 'u32' if narrow else 'u64')} + ({offset})))"
        return f"((char *){self.read(base, 'u64')} + (int64_t)({offset}))"

    def site(self):
        return f"Site{{kFile, {self.line}}}"

    # --- Instructions. `m` is the match of the opcode, `a` the operands.

    def op_load(self, m, a):
        t, c = m["t"], C_TYPE[m["t"]]
        n = int((m["v"] or "1"))
        space = m["space"] or "generic"
        fill = "".join(" " + self.write(x, t, f"x[{i}]") for i, x in enumerate(vector(a[0])))
        if space == "param":
            return f"{{ {c} x[{n}]; memcpy(x, {self.address(a[1], space)}, sizeof x);{fill} }}"
        where = "shared" if space == "shared" else "local" if space == "local" else "global"
        poll = f"poll({self.site()}); " if m["order"] and "acquire" in m["order"] else ""
        return (f"{{ {poll}{c} x[{n}]; load_{where}<{c}, {n}>({self.address(a[1], space)}, x, "
                f"{self.site()});{fill} }}")

    def op_store(self, m, a):
        t, c = m["t"], C_TYPE[m["t"]]
        values = vector(a[1])
        space = m["space"] or "generic"
        where = "shared" if space == "shared" else "local" if space == "local" else "global"
        items = ", ".join(self.read(x, t) for x in values)
        return (f"{{ const {c} x[{len(values)}] = {{{items}}}; store_{where}<{c}, {len(values)}>("
                f"{self.address(a[0], space)}, x, {self.site()}); }}")

    def op_mov(self, m, a):
        t = m["t"]
        if a[0].startswith("{"):
            parts = vector(a[0])
            width = BITS[t] // len(parts)
            fill = " ".join(self.write(x, f"b{width}", f"(uint{width}_t)(x >> {width * i})")
                            for i, x in enumerate(parts) if x != "_")
            return f"{{ const {C_TYPE[t]} x = {self.read(a[1], t)}; {fill} }}"
        if a[1].startswith("{"):
            parts = vector(a[1])
            width = BITS[t] // len(parts)
            value = " | ".join(f"(({C_TYPE[t]}){self.read(x, f'b{width}')} << {width * i})"
                               for i, x in enumerate(parts))
            return self.write(a[0], t, value)
        return self.write(a[0], t, self.read(a[1], t))

    def op_cvta(self, m, a):
        value = self.read(a[1], "u64")
        if m["space"] == "shared":
            sign = "-" if m["to"] else "+"
            value = f"{value} {sign} (uint64_t)thisThread().shared"
        return self.write(a[0], "u64", value)

    def op_cvt(self, m, a):
        d, s, rounding = m["d"], m["s"], m["r"]
        if d in ("f16x2", "bf16x2"):
            bf16 = "true" if d == "bf16x2" else "false"
            high, low = self.read(a[1], "f32"), self.read(a[2], "f32")
            return self.write(a[0], "b32", f"toHalf<{bf16}>({low}) | (uint32_t)toHalf<{bf16}>({high}) << 16")
        value = self.read(a[1], s)
        if s in ("f16", "bf16"):
            value, s = f"fromHalf<{'true' if s == 'bf16' else 'false'}>({value})", "f32"
        if d in ("f16", "bf16"):
            if rounding not in ("rn", None):
                raise PtxError("rounding")
            return self.write(a[0], "b16", f"toHalf<{'true' if d == 'bf16' else 'false'}>((float)({value}))")
        whole = {"rni": "rint", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}.get(rounding)
        if is_float(s) and is_float(d):
            return self.write(a[0], d, f"({C_TYPE[d]}){f'std::{whole}({value})' if whole else value}")
        if is_float(s):
            if not whole:
                raise PtxError("a conversion to integers without .rni, .rzi, .rmi or .rpi")
            return self.write(a[0], d, f"toInteger<{C_TYPE[d]}>(std::{whole}({value}))")
        if is_float(d) and rounding not in ("rn", None):
            raise PtxError("rounding")
        return self.write(a[0], d, f"({C_TYPE[d]})({value})")

    def op_arithmetic(self, m, a):
        t = m["t"]
        symbol = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^"}[m["op"]]
        if is_float(t) or t == "pred":
            return self.write(a[0], t, f"{self.read(a[1], t)} {symbol} {self.read(a[2], t)}")
        u = unsigned(t)
        wide = "u32" if BITS[t] < 32 else u  # no overflow of promoted types
        return self.write(a[0], u, f"({C_TYPE[u]})(({C_TYPE[wide]}){self.read(a[1], u)} {symbol} "
                                   f"({C_TYPE[wide]}){self.read(a[2], u)})")

    def op_half(self, m, a):
        values = ", ".join(self.read(x, "b32" if BITS[m["t"]] == 32 else "b16") for x in a[1:])
        bits = "b32" if BITS[m["t"]] == 32 else "b16"
        return self.write(a[0], bits, f"half_{m['op']}{half_kind(m['t'])}({values})")

    def op_fma(self, m, a):
        return self.write(a[0], m["t"], f"std::fma({', '.join(self.read(x, m['t']) for x in a[1:])})")

    def op_divide(self, m, a):
        t = m["t"]
        symbol = "%" if m["op"] == "rem" else "/"
        x, y = self.read(a[1], t), self.read(a[2], t)
        if is_float(t):
            return self.write(a[0], t, f"{x} / {y}")
        return self.write(a[0], t, f"({y} == 0 ? ({C_TYPE[t]})-1 : ({C_TYPE[t]})({x} {symbol} {y}))")

    def op_minmax(self, m, a):
        t = m["t"]
        f = {"min": "minimum", "max": "maximum"}[m["op"]]
        return self.write(a[0], t, f"{f}<{C_TYPE[t]}>({self.read(a[1], t)}, {self.read(a[2], t)})")

    def op_mul_wide(self, m, a):
        t = m["t"]
        wide = f"{t[0]}{2 * BITS[t]}"
        value = f"({C_TYPE[wide]}){self.read(a[1], t)} * ({C_TYPE[wide]}){self.read(a[2], t)}"
        if m["op"] == "mad":
            value += f" + {self.read(a[3], wide)}"
        return self.write(a[0], wide, value)

    def op_mul_high(self, m, a):
        t = m["t"]
        value = f"mulHigh<{C_TYPE[t]}>({self.read(a[1], t)}, {self.read(a[2], t)})"
        if m["op"] == "mad":
            value += f" + {self.read(a[3], t)}"
        return self.write(a[0], t, value)

    def op_mad(self, m, a):
        u = unsigned(m["t"])
        x, y, z = (self.read(v, u) for v in a[1:])
        return self.write(a[0], u, f"({C_TYPE[u]})({x} * {y} + {z})")

    def op_not(self, m, a):
        t = m["t"]
        return self.write(a[0], t, f"{'!' if t == 'pred' else '~'}{self.read(a[1], t)}")

    def op_negate(self, m, a):
        t = m["t"]
        if is_float(t):
            return self.write(a[0], t, f"-{self.read(a[1], t)}")
        return self.write(a[0], unsigned(t), f"({C_TYPE[unsigned(t)]})0 - {self.read(a[1], unsigned(t))}")

    def op_abs(self, m, a):
        t = m["t"]
        x = self.read(a[1], t)
        if is_float(t):
            return self.write(a[0], t, f"std::fabs({x})")
        return self.write(a[0], t, f"({x} < 0 ? ({C_TYPE[t]})(0 - (u{C_TYPE[t]}){x}) : {x})")

    def op_shift(self, m, a):
        t = m["t"] if m["op"] == "shr" else unsigned(m["t"])
        x, n = self.read(a[1], t), self.read(a[2], "u32")
        beyond = f"({x} < 0 ? -1 : 0)" if t[0] == "s" else "0"
        symbol = "<<" if m["op"] == "shl" else ">>"
        c = C_TYPE[t]
        return self.write(a[0], t, f"{n} >= {BITS[t]}u ? ({c}){beyond} : ({c})({x} {symbol} {n})")

    def op_funnel(self, m, a):
        f = "funnelLeft" if m["dir"] == "l" else "funnelRight"
        wrap = "true" if m["mode"] == "wrap" else "false"
        return self.write(a[0], "b32", f"{f}<{wrap}>({', '.join(self.read(x, 'b32') for x in a[1:])})")

    def op_setp(self, m, a):
        t, compare = m["t"], m["cmp"]
        x, y = self.read(a[1], t), self.read(a[2], t)
        if t in ("f16", "bf16"):
            f = f"fromHalf<{'true' if t == 'bf16' else 'false'}>"
            x, y = f"{f}({x})", f"{f}({y})"
        fractional = t[0] == "f" or t == "bf16"
        unordered = f"unordered({x}, {y})"
        if compare == "nan":
            value = unordered
        elif compare == "num":
            value = f"!{unordered}"
        elif fractional and compare.endswith("u"):
            value = f"({x} {COMPARE[compare[:-1]]} {y} || {unordered})"
        elif fractional and compare == "ne":
            value = f"({x} != {y} && !{unordered})"
        else:
            value = f"({x} {COMPARE[compare]} {y})"
        if m["bool"]:
            symbol = {"and": "&&", "or": "||", "xor": "!="}[m["bool"]]
            value = f"({value} {symbol} {self.read(a[3], 'pred')})"
        targets = a[0].split("|")
        text = self.write(targets[0], "pred", value)
        if len(targets) > 1:
            text = f"{{ const bool p = {value}; " + self.write(targets[0], "pred", "p") + " " + \
                   self.write(targets[1], "pred", "!p") + " }"
        return text

    def op_select(self, m, a):
        t = m["t"]
        return self.write(a[0], t, f"{self.read(a[3], 'pred')} ? {self.read(a[1], t)} : {self.read(a[2], t)}")

    def op_function(self, m, a):
        t = m["t"]
        value = {"ex2": "std::exp2({})", "lg2": "std::log2({})", "rcp": "1 / {}", "sqrt": "std::sqrt({})",
                 "rsqrt": "1 / std::sqrt({})", "sin": "std::sin({})", "cos": "std::cos({})",
                 "tanh": "std::tanh({})"}[m["op"]].format(self.read(a[1], t))
        return self.write(a[0], t, f"flushSubnormal({value})" if m["ftz"] else value)

    def op_copysign(self, m, a):
        return self.write(a[0], m["t"], f"std::copysign({self.read(a[2], m['t'])}, {self.read(a[1], m['t'])})")

    def op_bitfield(self, m, a):
        t, rest = m["t"], ", ".join(self.read(x, "u32") for x in a[-2:])
        values = ", ".join(self.read(x, t) for x in a[1:-2])
        return self.write(a[0], t, f"{'insertBits' if m['op'] == 'bfi' else 'extractBits'}<{C_TYPE[t]}>({values}, {rest})")

    def op_permute(self, m, a):
        return self.write(a[0], "b32", f"permuteBytes({', '.join(self.read(x, 'b32') for x in a[1:])})")

    def op_lop3(self, m, a):
        return self.write(a[0], "b32", f"logic3({', '.join(self.read(x, 'b32') for x in a[1:])})")

    def op_count(self, m, a):
        t = m["t"]
        n = BITS[t]
        x = self.read(a[1], f"u{n}")
        value = {"popc": f"__builtin_popcountll({x})",
                 "clz": f"({x} ? __builtin_clzll({x}) - {64 - n} : {n})",
                 "brev": f"reverseBits<uint{n}_t>({x})"}[m["op"]]
        return self.write(a[0], f"u{n}" if m["op"] == "brev" else "u32", value)

    def op_branch(self, m, a):
        return f"goto {c_name(a[0])};"

    def op_return(self, m, a):
        return "return;"

    def op_barrier(self, m, a):
        if a != ["0"]:
            raise PtxError("a barrier other than 0")
        return f"syncBlock({self.site()});"

    def op_warp_barrier(self, m, a):
        return f"syncWarp({self.read(a[0], 'b32')}, {self.site()});"

    def op_shuffle(self, m, a):
        targets = a[0].split("|")
        operands = ", ".join(self.read(x, "b32") for x in a[1:5])
        text = (f"{{ bool p; const uint32_t x = shuffle_{m['mode']}({operands}, p, {self.site()}); "
                + self.write(targets[0], "b32", "x"))
        if len(targets) > 1:
            text += " " + self.write(targets[1], "pred", "p")
        return text + " }"

    def op_ballot(self, m, a):
        return self.write(a[0], "b32", f"ballot({self.read(a[2], 'b32')}, {self.read(a[1], 'pred')}, {self.site()})")

    def op_fence(self, m, a):
        return ";"

    def op_mma(self, m, a):
        d, av, bv, c = (vector(x) for x in a)
        def items(xs, t):
            return ", ".join(self.read(x, t) for x in xs)
        fill = " ".join(self.write(x, "f32", f"c[{i}]") for i, x in enumerate(d))
        return (f"{{ float c[4] = {{{items(c, 'f32')}}}; const uint32_t a[4] = {{{items(av, 'b32')}}}; "
                f"const uint32_t b[2] = {{{items(bv, 'b32')}}}; "
                f"mma16816(c, a, b, {'true' if m['t'] == 'bf16' else 'false'}, {self.site()}); {fill} }}")

    def op_ldmatrix(self, m, a):
        d = vector(a[0])
        if len(d) != int(m["n"]):
            raise PtxError("the number of registers")
        fill = " ".join(self.write(x, "b32", f"r[{i}]") for i, x in enumerate(d))
        return (f"{{ uint32_t r[4]; ldmatrix(r, {self.address(a[1], 'shared')}, {len(d)}, "
                f"{'true' if m['trans'] else 'false'}, {self.site()}); {fill} }}")

    def op_cp_async(self, m, a):
        size = self.read(a[3], "s32") if len(a) > 3 else a[2]
        if m["cache"] == "cg" and a[2] != "16":
            raise PtxError("cp.async.cg copies 16 bytes")
        return (f"copyAsync({self.address(a[0], 'shared')}, {self.address(a[1], 'global')}, {a[2]}, "
                f"(int)({size}), {self.site()});")

    def op_cp_commit(self, m, a):
        return "commitCopies();"

    def op_cp_wait(self, m, a):
        return f"waitCopies((int){a[0]});"

    def op_cp_wait_all(self, m, a):
        return "waitCopies(0);"

    def op_atomic(self, m, a):
        reduces = m["op"] == "red"
        t = m["t"]
        target = a[0] if reduces else a[1]
        value = a[1] if reduces else a[2]
        space = m["space"] or "generic"
        kind = {"add": "kAdd", "min": "kMin", "max": "kMax", "exch": "kExchange", "or": "kOr", "and": "kAnd"}[m["what"]]
        kinds = {"u32": ("atomicU32", "uint32_t"), "b32": ("atomicU32", "uint32_t"), "s32": ("atomicS32", "int32_t"),
                 "u64": ("atomicU64", "uint64_t"), "f32": ("atomicF32", "float")}
        f, c = kinds[t]
        call = (f"{f}(AtomicOp::{kind}, ({c} *){self.address(target, space)}, {self.read(value, t)}, {self.site()})")
        return f"{call};" if reduces else self.write(a[0], t, call)

    def op_cas(self, m, a):
        return self.write(a[0], "b32", f"compareAndSwapU32((uint32_t *){self.address(a[1], m['space'] or 'generic')}, "
                                       f"{self.read(a[2], 'b32')}, {self.read(a[3], 'b32')}, {self.site()})")

    def op_nop(self, m, a):
        return ";"

    def op_trap(self, m, a):
        return f'fail(FaultKind::kKernel, "trap", {self.site()});'

    def instruction(self, text):
        predicate = ""
        m = re.match(r"@(!?)([%\w]+)\s+(.*)$", text, re.S)
        if m:
            predicate = f"if ({m[1]}{self.read(m[2], 'pred')}) "
            text = m[3]
        parts = text.split(None, 1)
        operands = split_operands(parts[1]) if len(parts) > 1 else []
        method, fields = decode(parts[0])
        return predicate + getattr(self, method)(fields, operands)


INTEGER = "(?P<t>[us](?:16|32|64))"
FLOAT = "(?P<t>f32|f64)"
HALF = "(?P<t>b?f16(?:x2)?)"
SPACE = r"(?:\.(?P<space>global|shared|local|param|const)(?:::cta)?)?"
ORDER = r"(?:\.(?P<order>volatile|weak|(?:relaxed|acquire|release)\.(?:cta|gpu|sys)))?"
CACHE = r"(?:\.nc)?(?:\.L1::\w+)?(?:\.L2::\w+)?(?:\.(?:ca|cg|cs|lu|cv|wb|wt))?"
ANY = r"(?P<t>[bus](?:8|16|32|64)|f32|f64|f16|bf16)"
RN = r"(?:\.rn)?"

# opcode with its modifiers -> method; the first match counts
TABLE = [(re.compile(pattern), method) for pattern, method in [
    (rf"ldu?{ORDER}{SPACE}{CACHE}(?:\.v(?P<v>[24]))?\.{ANY}", "op_load"),
    (rf"st{ORDER}{SPACE}{CACHE}(?:\.v(?P<v>[24]))?\.{ANY}", "op_store"),
    (r"mov\.(?P<t>pred|[bus](?:16|32|64)|f32|f64)", "op_mov"),
    (r"cvta(?:\.(?P<to>to))?\.(?P<space>global|shared|local|const|param)\.u64", "op_cvta"),
    (r"cvt(?:\.(?P<r>rn|rni|rzi|rmi|rpi))?\.(?P<d>[us](?:8|16|32|64)|f32|f64|b?f16(?:x2)?)"
     r"\.(?P<s>[us](?:8|16|32|64)|f32|f64|b?f16)", "op_cvt"),
    (rf"(?P<op>add|sub)\.{INTEGER}", "op_arithmetic"),
    (rf"(?P<op>mul)\.lo\.{INTEGER}", "op_arithmetic"),
    (rf"(?P<op>add|sub|mul){RN}\.{FLOAT}", "op_arithmetic"),
    (r"(?P<op>and|or|xor)\.(?P<t>pred|b16|b32|b64)", "op_arithmetic"),
    (rf"(?P<op>add|sub|mul|fma|min|max|neg|abs){RN}\.{HALF}", "op_half"),
    (rf"fma{RN}\.{FLOAT}", "op_fma"),
    (rf"(?P<op>mul|mad)\.wide\.(?P<t>[us](?:16|32))", "op_mul_wide"),
    (rf"(?P<op>mul|mad)\.hi\.(?P<t>[us](?:32|64))", "op_mul_high"),
    (rf"mad\.lo\.{INTEGER}", "op_mad"),
    (rf"(?P<op>div|rem)\.{INTEGER}", "op_divide"),
    (rf"(?P<op>div)\.(?:rn|full|approx)\.{FLOAT}", "op_divide"),
    (r"(?P<op>min|max)\.(?P<t>[us](?:16|32|64)|f32|f64)", "op_minmax"),
    (r"not\.(?P<t>pred|b16|b32|b64)", "op_not"),
    (rf"neg\.(?P<t>s16|s32|s64|f32|f64)", "op_negate"),
    (rf"abs\.(?P<t>s16|s32|s64|f32|f64)", "op_abs"),
    (r"(?P<op>shl)\.(?P<t>b16|b32|b64)", "op_shift"),
    (r"(?P<op>shr)\.(?P<t>[bus](?:16|32|64))", "op_shift"),
    (r"shf\.(?P<dir>[lr])\.(?P<mode>wrap|clamp)\.b32", "op_funnel"),
    (r"setp\.(?P<cmp>eq|ne|lt|le|gt|ge|lo|ls|hi|hs|equ|neu|ltu|leu|gtu|geu|num|nan)"
     r"(?:\.(?P<bool>and|or|xor))?\.(?P<t>[bus](?:16|32|64)|f32|f64|b?f16)", "op_setp"),
    (r"selp\.(?P<t>[bus](?:16|32|64)|f32|f64)", "op_select"),
    (r"(?P<op>ex2|lg2|sin|cos|tanh)\.approx(?P<ftz>\.ftz)?\.(?P<t>f32)", "op_function"),
    (r"(?P<op>rcp|sqrt|rsqrt)\.(?:approx|rn)(?P<ftz>\.ftz)?\.(?P<t>f32|f64)", "op_function"),
    (rf"copysign\.{FLOAT}", "op_copysign"),
    (r"(?P<op>bfi)\.(?P<t>b32|b64)", "op_bitfield"),
    (r"(?P<op>bfe)\.(?P<t>[us](?:32|64))", "op_bitfield"),
    (r"prmt\.b32", "op_permute"),
    (r"lop3\.b32", "op_lop3"),
    (r"(?P<op>popc|clz|brev)\.(?P<t>b32|b64)", "op_count"),
    (r"bra(?:\.uni)?", "op_branch"),
    (r"ret|exit", "op_return"),
    (r"bar(?:rier)?\.sync(?:\.aligned)?", "op_barrier"),
    (r"bar\.warp\.sync", "op_warp_barrier"),
    (r"shfl\.sync\.(?P<mode>bfly|idx|up|down)\.b32", "op_shuffle"),
    (r"vote\.sync\.ballot\.b32", "op_ballot"),
    (r"membar\.(?:cta|gl|sys)|fence\.(?:sc|acq_rel)\.(?:cta|gpu|sys)", "op_fence"),
    (r"mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.(?P<t>f16|bf16)\.(?P=t)\.f32", "op_mma"),
    (r"ldmatrix\.sync\.aligned\.m8n8\.x(?P<n>[124])(?P<trans>\.trans)?\.shared\.b16", "op_ldmatrix"),
    (r"cp\.async\.(?P<cache>ca|cg)\.shared\.global(?:\.L2::\w+)?", "op_cp_async"),
    (r"cp\.async\.commit_group", "op_cp_commit"),
    (r"cp\.async\.wait_group", "op_cp_wait"),
    (r"cp\.async\.wait_all", "op_cp_wait_all"),
    (rf"(?P<op>atom|red)(?:\.(?:relaxed|acquire|release|acq_rel))?(?:\.(?:cta|gpu|sys))?{SPACE}"
     r"(?:\.(?:cta|gpu|sys))?\.(?P<what>add|min|max|exch|or|and)\.(?P<t>u32|s32|b32|u64|f32)", "op_atomic"),
    (rf"atom(?:\.(?:relaxed|acquire|release|acq_rel))?(?:\.(?:cta|gpu|sys))?{SPACE}\.cas\.b32", "op_cas"),
    (r"prefetchu?(?:\.\w+)*|nanosleep\.u32", "op_nop"),
    (r"trap", "op_trap"),
]]


@functools.lru_cache(maxsize=None)
def decode(opcode):
    """The method of Kernel that translates an opcode, and the modifiers that it has to know."""
    for pattern, method in TABLE:
        match = pattern.fullmatch(opcode)
        if match:
            optional = ("order", "space", "v", "bool", "ftz", "r", "to", "cache", "trans")
            return method, dict.fromkeys(optional) | match.groupdict()
    raise PtxError(f"unknown instruction {opcode}")


class Module:
    """A PTX file; of its entry points those whose names match `only`."""

    def __init__(self, text, file, only):
        self.file = file
        self.only = only
        self.symbols = {}
        self.data = []
        self.kernels = []
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
        self.text = re.sub(r"//[^\n]*", "", text)
        self.line_starts = [m.end() for m in re.finditer(r"\n", self.text)]
        self.top_level()

    def line_of(self, position):
        return bisect.bisect_right(self.line_starts, position) + 1

    def fail(self, position, what):
        raise PtxError(f"{self.file}:{self.line_of(position)}: {what}")

    def top_level(self):
        i, text = 0, self.text
        patterns = [
            (re.compile(r"\s+"), None),
            (DIRECTIVE, None),
            (re.compile(r"\.extern\s+\.shared\s+\.align\s+\d+\s+\.b8\s+([\w$]+)\s*\[\s*\]\s*;"), self.extern_shared),
            (re.compile(r"(?:\.visible\s+|\.weak\s+)?\.(?:global|const)\s+\.align\s+(\d+)\s+\.(\w+)\s+([\w$]+)"
                        r"(?:\[(\d+)\])?\s*=\s*\{([^}]*)\}\s*;"), self.constant),
            (re.compile(r"(?:\.visible\s+|\.weak\s+)*\.entry\s+([\w$]+)\s*\("), self.entry),
        ]
        while i < len(text):
            for pattern, action in patterns:
                m = pattern.match(text, i)
                if m:
                    i = (action(m) if action else None) or m.end()
                    break
            else:
                self.fail(i, f"unknown directive: {text[i:i + 60].split(chr(10))[0]}")

    def extern_shared(self, m):
        self.symbols[m[1]] = "DYNAMIC"

    def constant(self, m):
        self.data.append(f"alignas({m[1]}) static const {C_TYPE[m[2]]} {c_name(m[3])}[] = {{{m[5]}}};")
        self.symbols[m[3]] = f"(uintptr_t){c_name(m[3])}"

    def entry(self, m):
        text = self.text
        close = text.index(")", m.end())
        opening = text.index("{", close)
        end, depth = opening + 1, 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        if not self.only.fullmatch(m[1]):
            return end
        kernel = Kernel(self, m[1])
        limit = re.search(r"\.maxntid\s+(\d+)(?:\s*,\s*(\d+)\s*,\s*(\d+))?", text[close:opening])
        if limit:
            kernel.max_threads = int(limit[1]) * int(limit[2] or 1) * int(limit[3] or 1)
        self.parameters(kernel, text[m.end():close])
        self.body(kernel, opening + 1, end - 1)
        if kernel.static_shared:
            self.fail(opening, f"{kernel.name} has static shared memory: only dynamic shared memory is simulated")
        self.kernels.append(kernel)
        return end

    def parameters(self, kernel, text):
        offset = 0
        for m in re.finditer(r"\.param\s+(?:\.align\s+(\d+)\s+)?\.(\w+)\s+(?:\.ptr\s+(?:\.\w+\s+(?:\d+\s+)?)*)?"
                             r"([\w$]+)(?:\[(\d+)\])?", text):
            size = BITS[m[2]] // 8
            align = int(m[1] or size)
            offset = (offset + align - 1) // align * align
            kernel.params[m[3]] = offset
            offset += size * int(m[4] or 1)
        kernel.param_bytes = offset

    def body(self, kernel, start, end):
        """Statements end with ';', labels with ':', and braces open and close scopes of registers."""
        i, text = start, self.text
        while i < end:
            if text[i].isspace() or text[i] == ";":
                i += 1
                continue
            kernel.line = self.line_of(i)
            m = DIRECTIVE.match(text, i) if text[i] == "." else None
            if m:
                i = m.end()
                continue
            if text[i] == "{":
                kernel.scope = Scope(kernel.scope)
                kernel.lines.append("{")
                i += 1
                continue
            if text[i] == "}":
                kernel.scope = kernel.scope.parent
                kernel.lines.append("}")
                i += 1
                continue
            m = LABEL.match(text, i)
            if m:
                kernel.lines.append(f"{c_name(m[1])}: ;")
                i = m.end()
                continue
            stop = text.index(";", i)
            try:
                kernel.lines.append(self.statement(kernel, text[i:stop].strip()))
            except PtxError as error:
                self.fail(i, f"{error}: {text[i:stop].strip()}")
            i = stop + 1

    def statement(self, kernel, text):
        if not text.startswith("."):
            return kernel.instruction(text)
        m = re.fullmatch(r"\.reg\s+\.(\w+)\s+(.*)", text, re.S)
        if m and m[1] in C_TYPE:
            names = []
            for item in (x.strip() for x in m[2].split(",")):
                counted = re.fullmatch(r"(.*)<(\d+)>", item)
                names += [f"{counted[1]}{i}" for i in range(int(counted[2]))] if counted else [item]
            for name in names:
                kernel.scope.registers[name] = m[1]
            zero = " = {}" if kernel.scope.parent is None else ""
            return "".join(f"{C_TYPE[m[1]]} {c_name(n)}{zero}; " for n in names)
        m = re.fullmatch(r"\.(shared|local)\s+\.align\s+(\d+)\s+\.(\w+)\s+([$\w]+)\[(\d+)\]", text)
        if m and m[1] == "local":
            kernel.arrays[m[4]] = f"(uintptr_t){c_name(m[4])}"
            return f"alignas({max(int(m[2]), 16)}) char {c_name(m[4])}[{BITS[m[3]] // 8 * int(m[5])}];"
        if m:
            kernel.static_shared += 1
            return ""
        raise PtxError("unknown directive")

    def cpp(self):
        out = [f"// Translated by tools/ptx2cpp.py from {self.file}.",
               '#include "kernels/cuda/sim/ptx_runtime.h"', "",
               "namespace {", "using namespace engine::sim;", "using namespace engine::sim::ptx;",
               f'constexpr const char *kFile = "{self.file}";',
               "constexpr uint32_t DYNAMIC = 0; // shared addresses are offsets", ""] + self.data
        for kernel in self.kernels:
            out += [f"void {kernel.name}Thread([[maybe_unused]] const void *args) {{"] + \
                   ["  " + line for line in kernel.lines] + ["}", ""]
        if not self.kernels:
            raise PtxError(f"{self.file}: no entry point matches")
        out += ["} // namespace", ""]
        for kernel in self.kernels:
            out += [f'extern "C" const Kernel {kernel.name};',
                    f'const Kernel {kernel.name} = {{"{kernel.name}", &{kernel.name}Thread, '
                    f'{kernel.param_bytes}, {kernel.max_threads}}};']
        return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--only", type=re.compile, default=re.compile(".*"),
                        help="regular expression of the entry points to translate")
    options = parser.parse_args()
    try:
        text = Module(options.source.read_text(), options.source.name, options.only).cpp()
    except PtxError as error:
        sys.exit(f"ptx2cpp: {error}")
    options.target.write_text(text)


if __name__ == "__main__":
    main()
