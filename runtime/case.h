// Directories that test the engine, in two forms.
//
// The ONNX project's: model.onnx and test_data_set_N/{input,output}_K.pb, in the order of the
// model's inputs (those with defaults skipped) and outputs; tol.json {"rtol", "atol"} beside the
// model, if it is there.
//
// Ours: model.onnx, io.npz (further calls io_*.npz) and case.txt, lines "key: value":
//   tolerance: ATOL RTOL     for floats; without it the command line's "close"
//   expected: TEXT           where the expected values come from; for readers
//   skip: WAY TEXT           one of the four ways is left out, and why
//   static: NAME=N ...       the symbols' values in io.npz; "static io_step1.npz: ..." in another
//   bundle state-in-place: yes      caches are set, kept and updated in place, and read afterwards
//   exact: yes               quantised weights as their exact dequantised values
//   refuse: TEXT             must be refused (any number of lines, all of them in the message)
//   load-only: yes           refused already when loaded; there are no bundles
#pragma once

#include "runtime/bundle.h"
#include "runtime/compare.h"
#include "runtime/engine.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace engine {

// How a case of our form is run: each is one test.
enum class Way {
  kImport,    // as imported: no pass, reference backend
  kPasses,    // all passes
  kRoundTrip, // all passes, through text after every one
  kStatic,    // symbols fixed when loaded; the results of kPasses come out
};
inline constexpr Way kWays[] = {Way::kImport, Way::kPasses, Way::kRoundTrip, Way::kStatic};
inline constexpr size_t kNumWays = std::size(kWays);
const char *wayName(Way way); // "import", "passes", "round-trip", "static"

struct CaseText {
  std::optional<Tolerance> tolerance;
  std::string expected;
  std::map<std::string, std::string> skip;                       // by way
  std::map<std::string, std::map<std::string, int64_t>> statics; // by bundle
  std::vector<std::string> refuse;
  bool stateInPlace = false, exact = false, loadOnly = false;
};

// Throws Error with the line at fault; unknown keys are faults.
CaseText parseCaseText(llvm::StringRef text);

struct CaseOptions {
  ModelOptions model; // for all ways but kImport, which has the reference backend
  SessionOptions session;
};

struct CaseOutcome {
  std::string failure; // empty: passed; else the reasons, one a line
  std::string skipped; // why it was not run
};

// One directory. Nothing is thrown: what cannot be run is a failure.
class Case {
public:
  explicit Case(std::string directory);

  const std::string &directory() const { return directory_; }
  // Either form, as the command line runs a model.
  CaseOutcome run(const CaseOptions &options);
  // Our form. kStatic compares with the results that kPasses left, if it was run before.
  CaseOutcome run(Way way, const CaseOptions &options);

private:
  CaseOutcome guarded(llvm::function_ref<void()> body) const;
  void prepare(); // reads case.txt and lists the bundles, once
  std::string modelPath() const { return directory_ + "/model.onnx"; }
  void runOnnxForm(const CaseOptions &options) const;
  void runBundle(const std::string &bundle, Way way, const CaseOptions &options);
  void runRefused(Way way, const CaseOptions &options);
  // Runs one bundle on a model; what it expects comes along.
  Result<Tensors> call(const Model &model, const Bundle &bundle, Way way,
                       const CaseOptions &options) const;
  ModelOptions modelOptions(const std::string &bundle, Way way, const CaseOptions &options) const;
  void checkRefusal(const Failure &failure) const;

  std::string directory_;
  bool prepared_ = false;
  CaseText text_;
  std::vector<std::string> bundles_;       // names of files
  std::map<std::string, Tensors> results_; // of kPasses, by bundle
};

} // namespace engine
