// CacheLengths and RopePositions: the bookkeeping of GroupQueryAttention, and every check of its
// run-time values.
#include "kernels/reference/attention_rows.h"
#include "kernels/windowed_cache.h"

namespace engine::reference {

namespace {

enum Operand { kSeqlens, kTotal, kQuerySeqlens };
enum Result { kQueryStart, kQueryLen, kKeyLen, kWriteStart, kKeyStart, kSplit };

[[noreturn]] void refuse(const char *input, const std::string &fault) {
  throw Error(fault).at(std::string("input '") + input + "'");
}

std::string valueText(int64_t value) { return "value " + std::to_string(value); }

std::string valueText(int64_t value, size_t entry) {
  return valueText(value) + " of entry " + std::to_string(entry);
}

std::string range(int64_t low, int64_t end) {
  return " is out of range [" + std::to_string(low) + ", " + std::to_string(end) + ")";
}

// What one batch entry does.
struct Entry {
  int64_t queryStart, queryLen, keyLen, writeStart, keyStart, split;
};

class Lengths {
public:
  Lengths(const ir::CacheLengths &op, const KernelCall &call)
      : op_(op), batch_(op.batch.evaluate(call.symbols)),
        queries_(op.queries.evaluate(call.symbols)), newRows_(op.newRows.evaluate(call.symbols)),
        pastRows_(op.pastCapacity.evaluate(call.symbols)),
        ropeRows_(op.ropeRows.evaluate(call.symbols)),
        seqlens_(loadAll<int64_t>(call.operand(kSeqlens))),
        ragged_(call.operand(kQuerySeqlens).present()) {
    if (call.operand(kTotal).count() != 1)
      refuse("total_sequence_length",
             std::to_string(call.operand(kTotal).count()) + " elements, expected one");
    total_ = intScalar(call.operand(kTotal));
    if (ragged_)
      querySeqlens_ = loadAll<int64_t>(call.operand(kQuerySeqlens));
    firstPrompt_ = queries_ == total_ && !ragged_ && !op.windowed;
  }

  llvm::SmallVector<Entry, 8> run() const {
    checkCounts();
    checkNewRows();
    checkTotal();
    llvm::SmallVector<Entry, 8> entries;
    for (size_t b = 0; b < seqlens_.size(); ++b)
      entries.push_back(entry(b));
    return entries;
  }

private:
  void checkCounts() const {
    if (static_cast<int64_t>(seqlens_.size()) != batch_)
      refuse("seqlens_k", std::to_string(seqlens_.size()) +
                              " elements, expected one per batch entry, " + std::to_string(batch_));
    if (ragged_ && static_cast<int64_t>(querySeqlens_.size()) != batch_)
      refuse("query_seqlens", std::to_string(querySeqlens_.size()) +
                                  " elements, expected one per batch entry, " +
                                  std::to_string(batch_));
  }

  void checkNewRows() const {
    const bool borrows = newRows_ == 0 && op_.hasPast && !op_.windowed && !ragged_;
    if (newRows_ != queries_ && !borrows)
      refuse("key",
             std::to_string(newRows_) + " rows, expected the query's " + std::to_string(queries_));
    if (op_.windowed && pastRows_ < op_.window)
      refuse("past_key", std::to_string(pastRows_) + " rows, expected at least the window's " +
                             std::to_string(op_.window));
  }

  void checkTotal() const {
    constexpr const char *kName = "total_sequence_length";
    if (total_ < 1)
      refuse(kName, valueText(total_) + ", expected at least 1");
    if (op_.windowed)
      return;
    if (total_ < newRows_)
      refuse(kName, valueText(total_) + ", expected at least the " + std::to_string(newRows_) +
                        " new rows");
    // With query_seqlens the total is but an upper bound.
    if (!ragged_ && total_ > pastRows_ && total_ != pastRows_ + newRows_)
      refuse(kName, valueText(total_) + ", expected " + std::to_string(pastRows_ + newRows_) +
                        ", past and new rows, or at most the past's " + std::to_string(pastRows_));
  }

  int64_t validQueries(size_t b, int64_t tokens) const {
    if (!ragged_)
      return queries_;
    const int64_t valid = querySeqlens_[b];
    const int64_t most = std::min(queries_, tokens);
    if (valid < 0 || valid > most)
      refuse("query_seqlens",
             valueText(valid, b) + " is out of range [0, " + std::to_string(most) + "]");
    return valid;
  }

  Entry entry(size_t b) const {
    const int64_t seqlen = seqlens_[b];
    if (seqlen < 0 || seqlen >= total_)
      refuse("seqlens_k", valueText(seqlen, b) + range(0, total_));
    const int64_t tokens = seqlen + 1;
    const int64_t valid = validQueries(b, tokens);
    if (!firstPrompt_ && tokens < valid)
      refuse("seqlens_k",
             valueText(seqlen, b) + " is too small for " + std::to_string(valid) + " query rows");
    const int64_t start = firstPrompt_ ? 0 : tokens - valid;
    checkRope(b, tokens, start + valid);
    if (op_.windowed)
      return windowedEntry(tokens, start, valid);
    checkRoom(b, start);
    return {start, valid, tokens, newRows_ == 0 ? tokens : start, 0, 0};
  }

  void checkRope(size_t b, int64_t tokens, int64_t end) const {
    if (ropeRows_ < 0 || std::max(tokens, end) <= ropeRows_)
      return;
    refuse("cos_cache", std::to_string(ropeRows_) + " rows, expected at least " +
                            std::to_string(std::max(tokens, end)) + " for entry " +
                            std::to_string(b));
  }

  // The rows before the new ones stand in the past, and the padded chunk fits the cache.
  void checkRoom(size_t b, int64_t start) const {
    if (!ragged_)
      return;
    const int64_t capacity = std::max(total_, pastRows_);
    if (start > pastRows_)
      refuse("seqlens_k", valueText(seqlens_[b], b) + ", expected at most the past's " +
                              std::to_string(pastRows_) + " rows before the " +
                              std::to_string(querySeqlens_[b]) + " new ones");
    if (start + queries_ > capacity)
      refuse("query_seqlens", valueText(querySeqlens_[b], b) + ": a chunk of " +
                                  std::to_string(queries_) + " rows from row " +
                                  std::to_string(start) + " on does not fit the cache's " +
                                  std::to_string(capacity));
  }

  Entry windowedEntry(int64_t tokens, int64_t start, int64_t valid) const {
    const int64_t resident = residentRows(start, pastRows_, op_.window);
    const int64_t keyStart = start - resident;
    return {start, valid, tokens - keyStart, resident, keyStart, resident};
  }

  const ir::CacheLengths &op_;
  const int64_t batch_, queries_, newRows_, pastRows_, ropeRows_;
  const Elements<int64_t> seqlens_;
  const bool ragged_; // there is query_seqlens
  Elements<int64_t> querySeqlens_;
  int64_t total_ = 0;
  bool firstPrompt_ = false;
};

void storeField(const KernelCall &call, Result result, llvm::ArrayRef<Entry> entries,
                int64_t Entry::*field) {
  const View view = call.result(result);
  if (!view.present())
    return;
  llvm::SmallVector<int64_t, 8> values;
  for (const Entry &entry : entries)
    values.push_back(entry.*field);
  storeAll<int64_t>(view, values);
}

} // namespace

void runCacheLengths(const ir::CacheLengths &op, const KernelCall &call) {
  const auto entries = Lengths(op, call).run();
  storeField(call, kQueryStart, entries, &Entry::queryStart);
  storeField(call, kQueryLen, entries, &Entry::queryLen);
  storeField(call, kKeyLen, entries, &Entry::keyLen);
  storeField(call, kWriteStart, entries, &Entry::writeStart);
  storeField(call, kKeyStart, entries, &Entry::keyStart);
  storeField(call, kSplit, entries, &Entry::split);
}

void runRopePositions(const ir::RopePositions &op, const KernelCall &call) {
  const View ids = call.operand(0);
  const bool firstPrompt = op.promptRule && ids.dims[1] == intScalar(call.operand(1));
  auto positions = loadAll<int64_t>(ids);
  if (firstPrompt)
    for (size_t i = positions.size(); i-- > 0;)
      positions[i] =
          engine::detail::saturatingAdd(positions[0], static_cast<int64_t>(i) % ids.dims[1]);
  storeAll<int64_t>(call.result(0), positions);
}

} // namespace engine::reference
