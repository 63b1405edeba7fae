#include "frontend/quote.h"
#include "ir/error.h"
#include "lowering/pipeline.h"
#include "runtime/cli.h"
#include "runtime/session_impl.h"

#include <CLI/CLI.hpp>

#include <csignal>
#include <new>

namespace engine::cli {

namespace {

void addLoadOptions(CLI::App &app, LoadFlags &flags) {
  app.add_option("MODEL", flags.model, "an .onnx file, or a dump (engine-ir 1)")->required();
  app.add_option("--set", flags.set, "fix a symbol of the shapes: SYM=N")->allow_extra_args(false);
  app.add_option("--weights", flags.weights, "folder of the weight files that a dump names");
}

// How a model runs, whatever it is fed.
void addExecutionOptions(CLI::App &app, RunFlags &flags) {
  app.add_option("--backend", flags.backend, "cpu (default), reference or cuda")
      ->check(CLI::IsMember({"cpu", "reference", "cuda"}));
  app.add_option("--device", flags.device, "cuda or sim, of the CUDA backend")
      ->check(CLI::IsMember({"cuda", "sim"}));
  app.add_option("--threads", flags.threads, "threads to use; all cores without it")
      ->check(CLI::Range(1, 4096));
  app.add_option("--isa", flags.isa, "highest instruction set to use: base, avx2 or avx512")
      ->check(CLI::IsMember({"base", "avx2", "avx512"}));
  app.add_option("--kernel", flags.kernels, "OP:NAME: only this kernel may run operators OP")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->envname("ENGINE_KERNEL");
  app.add_flag("--exact", flags.exact, "quantised weights as their exact dequantised values");
  app.add_flag("--no-pack", flags.noPack, "keep weights as the file has them");
  app.add_option("--max-memory", flags.maxMemory, "most bytes of buffers");
}

void addRunOptions(CLI::App &app, RunFlags &flags) {
  addLoadOptions(app, flags);
  app.add_option("--input-from-bundle", flags.inputBundle, "inputs by name, an .npz file");
  addExecutionOptions(app, flags);
  app.add_option("--random-inputs", flags.randomSeed,
                 "make up the inputs that no bundle gives: SEED");
  app.add_flag("--cast-inputs", flags.castInputs, "convert inputs of another float type");
  app.add_flag("--state-in-place", flags.stateInPlace,
               "caches are updated in place, as when decoding");
  app.add_flag("--round-trip", flags.roundTrip, "print and parse the graph after every pass");
  app.add_option("--disable", flags.disabled, "leave a pass out")->allow_extra_args(false);
  app.add_option("--stop-after", flags.stopAfter, "the last pass to run");
}

// One line a pass, in order.
std::string passTable() {
  constexpr size_t kNameColumn = 16;
  std::string text = "Passes, in order:";
  for (const lowering::Pass &pass : lowering::passes()) {
    std::string line = std::string("  ") + pass.name;
    line.resize(std::max(line.size() + 1, kNameColumn), ' ');
    text += "\n" + line + pass.summary;
  }
  return text;
}

// One object holds the options of all commands; the chosen command's function gets its own.
class CommandLine {
public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.footer("Exit status: 0 done, 1 a comparison failed, 2 refused, 3 an internal error.");
    addRun();
    addTest();
    addDump();
    addExplain();
    addBench();
    addGenerate();
    CLI::App *sub = app_.add_subcommand("ops", "operators, versions, types, attributes, refusals");
    sub->add_flag("--json", ops_.json, "as JSON");
    sub->callback([this] { chosen_ = [this] { return ops(ops_); }; });
  }

  int execute(int argc, char **argv) {
    try {
      app_.parse(argc, argv);
    } catch (const CLI::ParseError &error) {
      if (error.get_exit_code() == 0) { // help
        app_.exit(error);
        return kDone;
      }
      printError(unknownCommand(argc, argv).value_or(error.what()));
      std::fprintf(stderr, "engine --help and engine COMMAND --help say more\n");
      return kRefused;
    }
    return chosen_();
  }

private:
  // CLI11 only says that a subcommand is missing.
  std::optional<std::string> unknownCommand(int argc, char **argv) {
    if (argc < 2 || argv[1][0] == '-')
      return std::nullopt;
    std::string text =
        "there is no command " + frontend::quoted(llvm::StringRef(argv[1])) + "; the commands are:";
    for (const CLI::App *sub : app_.get_subcommands([](CLI::App *) { return true; })) {
      if (sub->get_name() == argv[1])
        return std::nullopt;
      text += " " + sub->get_name();
    }
    return text;
  }

  void addRun() {
    CLI::App *sub = app_.add_subcommand("run", "run a model once");
    addRunOptions(*sub, run_);
    sub->add_option("--save-outputs", run_.saveOutputs, "write the outputs to an .npz file");
    sub->add_option("--assert-output-bundle", run_.assertBundle,
                    "compare the outputs with an .npz file");
    sub->add_option("--approx", run_.approx, "exact, close (default), approximate or ATOL,RTOL");
    sub->callback([this] { chosen_ = [this] { return run(run_); }; });
  }

  void addTest() {
    CLI::App *sub = app_.add_subcommand("test", "run directories of test cases");
    sub->add_option("DIR", test_.directories,
                    "model.onnx with test_data_set_N/*.pb, or with io.npz and case.txt")
        ->required();
    sub->add_flag(
        "--ways", test_.ways,
        "each case four ways: as imported, after all passes, through text, with static shapes");
    sub->add_option("--backend", test_.backend, "cpu (default) or reference")
        ->check(CLI::IsMember({"cpu", "reference"}));
    sub->add_option("--isa", test_.isa, "highest instruction set to use: base, avx2 or avx512")
        ->check(CLI::IsMember({"base", "avx2", "avx512"}));
    sub->add_option("--threads", test_.threads, "threads to use; all cores without it")
        ->check(CLI::Range(1, 4096));
    sub->callback([this] { chosen_ = [this] { return test(test_); }; });
  }

  void addDump() {
    CLI::App *sub =
        app_.add_subcommand("dump", "print a model as text, and what stands in its way");
    addLoadOptions(*sub, dump_);
    sub->add_option("--after", dump_.after, "the state after this pass (import: before all)");
    sub->add_flag("--json", dump_.json, "as JSON");
    sub->add_flag("--summary", dump_.summary, "counts of operators, parameters and bytes");
    sub->footer(passTable());
    sub->callback([this] { chosen_ = [this] { return dump(dump_); }; });
  }

  void addExplain() {
    CLI::App *sub =
        app_.add_subcommand("explain", "attention nodes: mask, lengths, kernels and objections");
    addLoadOptions(*sub, explain_);
    sub->add_option("--input-from-bundle", explain_.inputBundle,
                    "take the symbols from its arrays");
    sub->add_flag("--json", explain_.json, "as JSON");
    sub->callback([this] { chosen_ = [this] { return explain(explain_); }; });
  }

  void addBench() {
    CLI::App *sub =
        app_.add_subcommand("bench", "measure a model; random inputs where none are given");
    addRunOptions(*sub, bench_);
    sub->add_option("--warmup", bench_.warmup, "runs that do not count (3)")
        ->check(CLI::Range(0, 1000000));
    sub->add_option("--runs", bench_.runs, "runs that count (20)")->check(CLI::Range(1, 1000000));
    sub->add_flag("--profile", bench_.profile, "time of every node");
    sub->add_option("--trace", bench_.trace,
                    "write the nodes' times for a trace viewer: FILE.json");
    sub->add_flag("--json", bench_.json, "as JSON");
    sub->callback([this] { chosen_ = [this] { return bench(bench_); }; });
  }

  void addGenerate() {
    CLI::App *sub = app_.add_subcommand("generate", "continue a prompt of token ids");
    sub->add_option("DIR", generate_.model,
                    "genai_config.json, or prefill.onnx and decode.onnx, or model.onnx")
        ->required();
    sub->add_option("--prompt-ids", generate_.promptIds, "the prompt: 1,2,3")->required();
    sub->add_option("-n", generate_.count, "most tokens to generate (16)")
        ->check(CLI::Range(0, 1 << 30));
    sub->add_option("--temperature", generate_.temperature,
                    "0: the likeliest token (default); 1 where one of the next three is given");
    sub->add_option("--top-k", generate_.topK, "draw among the likeliest N; 0: all");
    sub->add_option("--top-p", generate_.topP, "draw among the likeliest that reach F together");
    sub->add_option("--seed", generate_.seed, "of what is drawn (0)");
    sub->add_option("--chunk", generate_.chunk, "most tokens of the prompt in one call (256)")
        ->check(CLI::Range(1, 1 << 30));
    sub->add_flag("--json", generate_.json, "as JSON");
    sub->add_option("--set", generate_.set, "fix a symbol of the shapes: SYM=N")
        ->allow_extra_args(false);
    addExecutionOptions(*sub, generate_);
    sub->callback([this] { chosen_ = [this] { return generate(generate_); }; });
  }

  CLI::App app_{"Imports, checks and runs ONNX decoders.", "engine"};
  std::function<int()> chosen_;
  RunCommand run_;
  TestCommand test_;
  DumpCommand dump_;
  ExplainCommand explain_;
  BenchCommand bench_;
  GenerateCommand generate_;
  OpsCommand ops_;
};

int executeGuarded(int argc, char **argv) {
  try {
    return CommandLine().execute(argc, argv);
  } catch (const Stop &stop) {
    return stop.status;
  } catch (const Error &error) {
    if (error.kind() == Error::Kind::kInternal)
      return reportInternal(error.what());
    printError(error.what());
    return kRefused;
  } catch (const std::bad_alloc &) {
    printError("out of memory");
    return kRefused;
  } catch (const std::exception &error) {
    return reportInternal(error.what());
  }
}

} // namespace

} // namespace engine::cli

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN); // a closed pipe is an error of a write
  engine::detail::installBadAllocHandler();
  const int status = engine::cli::executeGuarded(argc, argv);
  const int output = engine::cli::finishOutput();
  return status ? status : output;
}
