#include "ir/error.h"
#include "runtime/cli.h"
#include "runtime/session_impl.h"

#include "llvm/ADT/MapVector.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

namespace engine::cli {

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;

double milliseconds(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

// Of this program alone: getrusage's peak includes that of the process that started it.
double peakRssMb() {
  std::ifstream status("/proc/self/status");
  std::string key;
  while (status >> key) {
    double kilobytes = 0;
    if (key == "VmHWM:" && status >> kilobytes)
      return kilobytes / 1024;
  }
  return 0;
}

// Times of the nodes, summed over runs; the last run's also one after the other.
class Profile {
public:
  void startRun() {
    ++runs_;
    start_ = Clock::now();
    events_.clear();
  }

  void add(const ir::Node &node, const KernelRow &row, double ms) {
    Entry &entry = entries_[&node];
    entry.kernel = row.name;
    entry.ms += ms;
    total_ += ms;
    const double end = milliseconds(Clock::now() - start_);
    events_.push_back({&node, row.name, end - ms, ms});
  }

  // In the order in which they ran.
  Json nodes() const {
    Json nodes = Json::array();
    for (const auto &[node, entry] : entries_)
      nodes.push_back({{"name", node->name},
                       {"op", ir::opName(node->op)},
                       {"kernel", entry.kernel},
                       {"ms", entry.ms / std::max(runs_, 1)},
                       {"share", total_ > 0 ? entry.ms / total_ : 0}});
    return nodes;
  }

  // The trace event format: chrome://tracing, ui.perfetto.dev.
  Json trace() const {
    Json events = Json::array();
    for (const Event &event : events_)
      events.push_back({{"name", event.node->name},
                        {"cat", ir::opName(event.node->op)},
                        {"ph", "X"},
                        {"ts", event.start * 1000},
                        {"dur", event.ms * 1000},
                        {"pid", 1},
                        {"tid", 1},
                        {"args", {{"op", ir::opName(event.node->op)}, {"kernel", event.kernel}}}});
    return {{"traceEvents", events}};
  }

private:
  struct Entry {
    const char *kernel = "";
    double ms = 0;
  };
  struct Event {
    const ir::Node *node;
    const char *kernel;
    double start, ms;
  };

  llvm::MapVector<const ir::Node *, Entry> entries_;
  std::vector<Event> events_;
  Clock::time_point start_;
  double total_ = 0;
  int runs_ = 0;
};

void printText(const Json &result) {
  char line[200];
  std::snprintf(line, sizeof line, "median %.3f ms, min %.3f ms, p90 %.3f ms\n",
                result["median_ms"].get<double>(), result["min_ms"].get<double>(),
                result["p90_ms"].get<double>());
  print(line);
  std::snprintf(line, sizeof line,
                "%d runs, %d threads, backend %s, loaded in %.1f ms, peak memory %.1f MB\n",
                result["runs"].get<int>(), result["threads"].get<int>(),
                result["backend"].get<std::string>().c_str(), result["load_ms"].get<double>(),
                result["peak_rss_mb"].get<double>());
  print(line);
  if (!result.contains("nodes"))
    return;
  std::vector<Json> nodes = result["nodes"];
  llvm::stable_sort(nodes, [](const Json &a, const Json &b) { return a["ms"] > b["ms"]; });
  for (const Json &node : nodes) {
    std::snprintf(line, sizeof line, "%9.4f ms %5.1f%%  ", node["ms"].get<double>(),
                  100 * node["share"].get<double>());
    print(line + node["op"].get<std::string>() + ":" + node["kernel"].get<std::string>() + "  " +
          node["name"].get<std::string>() + "\n");
  }
}

void writeTrace(const std::string &path, const Json &trace) {
  std::ofstream file(path, std::ios::binary);
  file << trace.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
  file.close();
  if (!file)
    throw Error("it cannot be written").inFile(path);
}

} // namespace

int bench(const BenchCommand &command) {
  const Clock::time_point loading = Clock::now();
  const Model model = loadModel(command);
  const double loadMs = milliseconds(Clock::now() - loading);

  RunFlags flags = command;
  if (!flags.randomSeed)
    flags.randomSeed = 0; // for what no bundle gives
  Runner runner(model, flags, makeFeed(model, flags));
  Profile profile;
  const bool profiled = command.profile || !command.trace.empty();

  std::vector<double> times;
  for (int i = 0; i < command.warmup + command.runs; ++i) {
    if (i > 0)
      runner.restore();
    const bool counts = i >= command.warmup;
    if (profiled && i == command.warmup)
      runner.session().impl().executor.setProfile([&](const ir::Node &node, const KernelRow &row,
                                                      double ms) { profile.add(node, row, ms); });
    if (profiled && counts)
      profile.startRun();
    const Clock::time_point start = Clock::now();
    runner.call();
    if (counts)
      times.push_back(milliseconds(Clock::now() - start));
  }
  llvm::sort(times);
  auto quantile = [&](double q) {
    return times[static_cast<size_t>(q * (times.size() - 1) + 0.5)];
  };
  const size_t middle = times.size() / 2;
  const double median = times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;

  Json result = {{"model", command.model},
                 {"median_ms", median},
                 {"min_ms", times.front()},
                 {"p90_ms", quantile(0.9)},
                 {"runs", command.runs},
                 {"threads", command.threads ? command.threads
                                             : static_cast<int>(std::max(
                                                   1u, std::thread::hardware_concurrency()))},
                 {"backend", command.backend},
                 {"peak_rss_mb", peakRssMb()},
                 {"load_ms", loadMs}};
  if (command.profile)
    result["nodes"] = profile.nodes();
  if (!command.trace.empty())
    writeTrace(command.trace, profile.trace());
  if (command.json)
    printJson(result);
  else
    printText(result);
  return kDone;
}

} // namespace engine::cli
