#include "runtime/case.h"
#include "runtime/cli.h"

#include <array>
#include <cstdio>
#include <unistd.h>

namespace engine::cli {

namespace {

class Tally {
public:
  explicit Tally(size_t total)
      : total_(total), progress_(isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO)) {}

  // The word for the table.
  const char *count(const CaseOutcome &outcome) {
    if (!outcome.skipped.empty())
      return "skipped";
    ++(outcome.failure.empty() ? passed_ : failed_);
    return outcome.failure.empty() ? "ok" : "FAILED";
  }

  void step() {
    ++done_;
    if (progress_)
      std::fprintf(stderr, "\r%zu of %zu%s", done_, total_, done_ == total_ ? "\n" : "");
  }

  int finish() const {
    print(std::to_string(passed_) + " passed, " + std::to_string(failed_) + " failed\n");
    return failed_ ? kDiffers : kDone;
  }

private:
  size_t total_, done_ = 0, passed_ = 0, failed_ = 0;
  bool progress_;
};

std::string padded(llvm::StringRef text, size_t width) {
  return text.str() + std::string(text.size() < width ? width - text.size() : 1, ' ');
}

void printReason(llvm::StringRef way, llvm::StringRef reason) {
  while (!reason.empty()) {
    const auto [line, rest] = reason.split('\n');
    print("    " + (way.empty() ? "" : way.str() + ": ") + line.str() + "\n");
    reason = rest;
  }
}

void testWays(Case &test, const CaseOptions &options, size_t width, Tally &tally) {
  std::array<CaseOutcome, kNumWays> outcomes;
  std::string row = padded(test.directory(), width);
  for (size_t i = 0; i < kNumWays; ++i) {
    outcomes[i] = test.run(kWays[i], options);
    row += padded(tally.count(outcomes[i]), std::string_view(wayName(kWays[i])).size() + 2);
  }
  print(llvm::StringRef(row).rtrim().str() + "\n");
  for (size_t i = 0; i < kNumWays; ++i) {
    printReason(wayName(kWays[i]), outcomes[i].failure);
    if (!outcomes[i].skipped.empty())
      printReason(wayName(kWays[i]), "skipped: " + outcomes[i].skipped);
  }
}

} // namespace

int test(const TestCommand &command) {
  CaseOptions options;
  options.model.backend = command.backend;
  options.model.isa = command.isa;
  options.session.threads = command.threads;

  size_t width = 0;
  std::vector<Case> cases;
  for (const std::string &directory : command.directories) {
    cases.emplace_back(directory);
    width = std::max(width, cases.back().directory().size() + 2);
  }
  Tally tally(cases.size());
  if (command.ways) {
    std::string head = padded("", width);
    for (Way way : kWays)
      head += std::string(wayName(way)) + "  ";
    print(llvm::StringRef(head).rtrim().str() + "\n");
  }
  for (Case &test : cases) {
    if (command.ways) {
      testWays(test, options, width, tally);
    } else {
      const CaseOutcome outcome = test.run(options);
      print(padded(test.directory(), width) + tally.count(outcome) + "\n");
      printReason("", outcome.failure.empty() ? outcome.skipped : outcome.failure);
    }
    tally.step();
    test = Case(""); // frees its results
  }
  return tally.finish();
}

} // namespace engine::cli
