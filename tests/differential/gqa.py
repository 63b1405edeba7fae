"""Random calls of GroupQueryAttention, every one of them valid."""

import numpy as np

from tests.reference import group_query_attention
from tests.reference.gqa import resident_rows
from tests.reference.selftest import GQA_INPUTS

from .call import BFLOAT16, Call, TOLERANCE, between, chance, element_type, masked, normal, pick

WEIGHTS = ("cos_cache", "sin_cache", "head_sink", "k_scale", "v_scale", "q_norm_weight",
           "k_norm_weight")
FORMS = ("prompt", "prompt", "ragged prompt", "decode", "decode", "ragged decode", "chunk",
         "ragged chunk", "borrowed", "borrowed prompt", "queries", "windowed", "windowed queries")


class Plan:
    """Lengths: which form of call, and what follows for every batch entry."""

    def __init__(self, rng):
        self.form = pick(rng, *FORMS)
        self.batch = pick(rng, 1, 1, 2, 2, 3, 0 if chance(rng, 0.15) else 2)
        long = chance(rng, 0.04)
        decodes = "decode" in self.form or chance(rng, 0.2)
        self.rows = 1 if decodes else between(rng, 2, 7)
        if chance(rng, 0.06) and not decodes:
            self.rows = between(rng, 17, 70)
        self.borrows = self.form.startswith("borrowed")
        self.new_rows = 0 if self.borrows else self.rows
        self.windowed = self.form.startswith("windowed")
        self.ragged = self.form.endswith("queries")
        self.query_lengths = None
        past = between(rng, 1100, 1300) if long else between(rng, 1, 12)
        if "prompt" in self.form and not self.borrows:
            self._prompt(rng, ragged=self.form == "ragged prompt")
        elif self.form == "borrowed prompt":
            self.total = self.rows
            self.capacity = self.rows + pick(rng, 0, 0, 3)
            self.lengths = rng.integers(1, self.rows + 1, self.batch)
        elif self.borrows:
            self.capacity = past + self.rows
            self.total = between(rng, self.rows + 1, self.capacity) if self.capacity > self.rows else 1
            self.lengths = rng.integers(self.rows, self.total + 1, self.batch)
        elif self.windowed:
            self._windowed(rng)
        elif self.ragged:
            self._queries(rng, past)
        else:
            self.total = past + self.rows
            self.capacity = pick(rng, past, self.total, self.total + 3)
            self.lengths = np.full(self.batch, self.total)
            if "ragged" in self.form or chance(rng, 0.3):
                self.lengths = rng.integers(self.rows, self.total + 1, self.batch)
        self.first_prompt = self.rows == self.total and not self.ragged and not self.windowed
        valid = np.full(self.batch, self.rows) if self.query_lengths is None else self.query_lengths
        self.valid = valid
        self.starts = np.zeros(self.batch, int) if self.first_prompt else self.lengths - valid

    def _prompt(self, rng, ragged):
        self.total = self.rows
        self.capacity = pick(rng, None, None, 0, self.rows, self.rows + 4)
        self.lengths = np.full(self.batch, self.rows)
        if ragged:
            self.lengths = rng.integers(1, self.rows + 1, self.batch)

    def _windowed(self, rng):
        self.window = between(rng, 1, 6)
        self.capacity = self.window + between(rng, 0, 5)
        done = rng.integers(0, 20, self.batch)
        if self.ragged:
            self.query_lengths = rng.integers(0, self.rows + 1, self.batch)
            self.query_lengths = np.where(done == 0, np.maximum(self.query_lengths, 1),
                                          self.query_lengths)
        valid = self.rows if self.query_lengths is None else self.query_lengths
        self.lengths = done + valid
        self.total = max(int(self.lengths.max(initial=1)), 1) + pick(rng, 0, 0, 2)

    def _queries(self, rng, past):
        self.capacity = past + self.rows + between(rng, 0, 4)
        self.query_lengths = rng.integers(0, self.rows + 1, self.batch)
        # The padded chunk fits the cache.
        starts = rng.integers(0, self.capacity - self.rows + 1, self.batch)
        starts = np.where((starts == 0) & (self.query_lengths == 0), 1, starts)
        self.lengths = starts + self.query_lengths
        least = max(int(self.lengths.max(initial=1)), self.rows)
        self.total = between(rng, least, self.capacity)
        if chance(rng, 0.2) and least <= self.rows:
            self.total = self.rows


def random_gqa(rng):
    plan = Plan(rng)
    kv_heads = pick(rng, 1, 2, 2, 3)
    heads = kv_heads * pick(rng, 1, 2, 2, 4, 8)
    head_size = pick(rng, 8, 8, 16, 16, 32, 2, 4, 6, 12, 20, 40, 64, 80, 128, 5, 7)
    dtype = element_type(rng)
    feeds, attributes, dims = {}, {"num_heads": heads, "kv_num_heads": kv_heads}, {}
    constants = set()

    quantised = plan.capacity is not None and chance(rng, 0.2)
    bits = pick(rng, 8, 4) if quantised and head_size % 2 == 0 else 8
    _queries(rng, plan, feeds, dims, dtype, heads, kv_heads, head_size)
    if plan.capacity is not None:
        _past(rng, plan, feeds, dims, attributes, dtype, kv_heads, head_size, bits * quantised)
    _lengths(rng, plan, feeds, dims)
    # Codes of half-precision rows depend on roundings that the rules leave free.
    exact_rows = not quantised or dtype == np.float32
    if chance(rng, 0.55) and exact_rows and head_size > 1:
        _rotary(rng, plan, feeds, dims, attributes, dtype, head_size)
    if chance(rng, 0.35):
        shape = (pick(rng, 1, plan.batch), pick(rng, 1, heads), plan.rows, plan.total)
        feeds["attention_bias"] = masked(rng, shape, dtype)
        dims["attention_bias"] = [None if shape[0] == 1 else "batch", None, "rows", "total"]
    sink = rng.random()
    if sink < 0.15:
        feeds["head_sink"] = normal(rng, heads, dtype)
    elif sink < 0.3:
        attributes["smooth_softmax"] = 1
    elif sink < 0.35:
        attributes["smooth_softmax"] = 0
    if chance(rng, 0.15) and exact_rows:
        for name in ("q_norm_weight", "k_norm_weight"):
            feeds[name] = (1 + 0.25 * rng.standard_normal(head_size)).astype(dtype)
        attributes["qk_norm_epsilon"] = pick(rng, 1e-6, 1e-3)
        if chance(rng, 0.3):
            attributes["k_norm_epsilon"] = 1e-2
    _mask_attributes(rng, plan, attributes)
    if chance(rng, 0.2):
        attributes["softcap"] = pick(rng, 0.7, 2.0, 30.0, -1.0)
    if chance(rng, 0.2):
        attributes["scale"] = pick(rng, 0.25, -0.3, 0.0)
    feeds = {name: feeds[name] for name in GQA_INPUTS if name in feeds}
    for name in WEIGHTS:
        if name in feeds and chance(rng, 0.7):
            constants.add(name)
    if ("cos_cache" in constants) != ("sin_cache" in constants):
        constants -= {"cos_cache", "sin_cache"}

    in_place = plan.capacity is not None and chance(rng, 0.4) and (
        plan.windowed or plan.capacity >= plan.total)
    if chance(rng, 0.35) and not quantised:
        _poison(rng, plan, feeds, attributes)
    wants_scores = not plan.windowed and chance(rng, 0.2)
    if wants_scores and chance(rng, 0.85):
        attributes["qk_output"] = pick(rng, 1, 2)
    # A windowed cache is never shared in the reference's sense: its free rows do not count.
    result = group_query_attention(**feeds, **attributes, in_place=in_place and not plan.windowed)
    return _call(rng, plan, feeds, dims, attributes, constants, result, in_place, wants_scores,
                 quantised)


def _queries(rng, plan, feeds, dims, dtype, heads, kv_heads, head_size):
    shape = (plan.batch, plan.rows)
    dims["query"] = ["batch", "rows", None]
    if not plan.borrows and chance(rng, 0.3):
        feeds["query"] = normal(rng, (*shape, (heads + 2 * kv_heads) * head_size), dtype)
        return
    feeds["query"] = normal(rng, (*shape, heads * head_size), dtype)
    for name in ("key", "value"):
        feeds[name] = normal(rng, (plan.batch, plan.new_rows, kv_heads * head_size), dtype)
        dims[name] = ["batch", "new_rows" if plan.borrows else "rows", None]


def _past(rng, plan, feeds, dims, attributes, dtype, kv_heads, head_size, bits):
    shape = (plan.batch, kv_heads, plan.capacity, head_size)
    if bits:
        kind = pick(rng, "PER_TENSOR", "PER_CHANNEL")
        attributes |= {"kv_cache_bit_width": bits, "k_quant_type": kind, "v_quant_type": kind}
        size = (1,) if kind == "PER_TENSOR" else pick(rng, (1, kv_heads, 1, head_size),
                                                      (kv_heads * head_size,))
        for name in ("k_scale", "v_scale"):
            feeds[name] = (rng.uniform(0.3, 0.6, size) * 4 / 2 ** (bits // 2)).astype(np.float32)
    for name in ("past_key", "past_value"):
        dims[name] = ["batch", None, "past", None]
        if bits == 4:
            feeds[name] = rng.integers(0, 256, (*shape[:3], head_size // 2)).astype(np.uint8)
        elif bits == 8:
            feeds[name] = rng.integers(-10, 11, shape).astype(np.int8)
        else:
            feeds[name] = normal(rng, shape, dtype)


def _lengths(rng, plan, feeds, dims):
    lengths = (plan.lengths - 1).astype(np.int32)
    form = pick(rng, "row", "row", "column", "one row")
    if form == "column":
        lengths = lengths.reshape(-1, 1)
    elif form == "one row":
        lengths = lengths.reshape(1, -1)
    feeds["seqlens_k"] = lengths
    dims["seqlens_k"] = {"row": ["batch"], "column": ["batch", None], "one row": [None, "batch"]}[form]
    shape = pick(rng, (), (1,))
    feeds["total_sequence_length"] = np.full(shape, plan.total, np.int32)
    if plan.query_lengths is not None:
        feeds["query_seqlens"] = plan.query_lengths.astype(np.int32)
        dims["query_seqlens"] = ["batch"]


def _rotary(rng, plan, feeds, dims, attributes, dtype, head_size):
    attributes |= {"do_rotary": 1, "rotary_interleaved": int(chance(rng, 0.3))}
    half = head_size // 2 if chance(rng, 0.6) else between(rng, 1, head_size // 2)
    least = max([1, plan.rows, *plan.lengths.tolist(), *(plan.starts + plan.valid).tolist()])
    positions = least + between(rng, 0, 5)
    angles = rng.uniform(0, 6, (positions, half))
    feeds["cos_cache"] = np.cos(angles).astype(dtype)
    feeds["sin_cache"] = np.sin(angles).astype(dtype)
    dims["cos_cache"] = dims["sin_cache"] = ["positions", None]
    if chance(rng, 0.3):
        highest = positions - plan.rows if plan.first_prompt else positions - 1
        ids = rng.integers(0, highest + 1, (plan.batch, plan.rows))
        feeds["position_ids"] = ids.astype(np.int64)
        dims["position_ids"] = ["batch", "rows"]


def _mask_attributes(rng, plan, attributes):
    if plan.windowed:
        attributes |= {"sliding_window_cache": 1, "local_window_size": plan.window}
    elif chance(rng, 0.4):
        attributes["local_window_size"] = pick(rng, 0, 1, 2, 3, 5, 100, -2, plan.total)
    elif chance(rng, 0.15) and not plan.ragged:
        attributes["causal"] = 0


def _poison(rng, plan, feeds, attributes):
    """Not a number where nothing may be read: past rows that are replaced or lie outside every
    window, and new rows that no query sees."""
    bad = pick(rng, np.nan, np.inf)
    window = attributes.get("local_window_size", -1)
    for b in range(plan.batch):
        start, length, valid = int(plan.starts[b]), int(plan.lengths[b]), int(plan.valid[b])
        for name in ("past_key", "past_value"):
            if name not in feeds:
                continue
            if plan.windowed:
                feeds[name][b, :, resident_rows(start, plan.capacity, plan.window):] = bad
                continue
            feeds[name][b, :, length if plan.borrows else start:] = bad
            if window > 0 and start - window + 1 > 0:
                feeds[name][b, :, : start - window + 1] = bad
        for name in ("key", "value"):
            if name in feeds and feeds[name].shape[1]:
                feeds[name][b, max(length - start, 0) if plan.first_prompt else valid:] = bad
        if plan.ragged and "key" in feeds:
            feeds["query"][b, valid:] = bad


def _call(rng, plan, feeds, dims, attributes, constants, result, in_place, wants_scores, quantised):
    dtype = feeds["query"].dtype
    cache_type = feeds["past_key"].dtype if "past_key" in feeds else dtype
    needed = plan.windowed or plan.ragged or quantised or in_place
    present = needed or chance(rng, 0.85)
    outputs = {"output": (dtype, result.output)}
    for name in ("present_key", "present_value"):
        outputs[name] = (cache_type, getattr(result, name)) if present else None
    if wants_scores:
        outputs["output_qk"] = (dtype, result.output_qk)
    masks = {}
    if plan.windowed:
        masks = dict.fromkeys(("present_key", "present_value"), result.present_rows[:, None, :, None])
    call = Call("GroupQueryAttention", "com.microsoft", 21, GQA_INPUTS, feeds, dims, attributes,
                outputs, masks, constants, in_place)
    call.tolerance = TOLERANCE.get(dtype, TOLERANCE[BFLOAT16])
    return call
