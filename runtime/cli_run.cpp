#include "frontend/quote.h"
#include "runtime/bundle.h"
#include "runtime/cli.h"
#include "runtime/elements.h"

#include <cmath>

namespace engine::cli {

namespace {

// "logits  f32[1, 3, 256]  from -1.2 to 3.3": one line for each output.
std::string summary(const std::string &name, const Tensor &tensor) {
  std::string line = frontend::printable(name) + "  " + typeText(tensor);
  if (tensor.count() == 0)
    return line + "\n";
  withLoader(tensor.dtype(), [&](auto load) {
    double low = INFINITY, high = -INFINITY;
    int64_t nans = 0;
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const double value = static_cast<double>(load(tensor.data(), i));
      nans += std::isnan(value);
      low = value < low ? value : low;
      high = value > high ? value : high;
    }
    char text[120];
    if (nans < tensor.count()) {
      std::snprintf(text, sizeof text, tensor.count() == 1 ? "  %.9g" : "  from %.9g to %.9g", low,
                    high);
      line += text;
    }
    if (nans)
      line += "  " + std::to_string(nans) + " NaN";
  });
  return line + "\n";
}

int compare(const RunCommand &command, const Model &model, const Tensors &outputs,
            const Tolerances &tolerances) {
  const Bundle bundle = readBundle(command.assertBundle, model.inputs(), model.outputs(), true);
  const std::vector<std::string> wrong =
      compareOutputs(model.outputs(), outputs, bundle.expected, bundle.masks, tolerances);
  for (const std::string &message : wrong)
    printError(command.model + ": " + message);
  if (wrong.empty())
    print("all " + std::to_string(model.outputs().size()) + " outputs are as expected (" +
          command.approx + ")\n");
  return wrong.empty() ? kDone : kDiffers;
}

} // namespace

int run(const RunCommand &command) {
  const Tolerances tolerances = Tolerances::parse(command.approx); // before the work, not after it
  const Model model = loadModel(command);
  Runner runner(model, command, makeFeed(model, command));
  Tensors outputs = runner.call();
  runner.addStates(outputs);

  std::vector<NamedTensor> arrays;
  for (const ValueInfo &output : model.outputs()) {
    arrays.push_back({output.name, outputs[output.name]});
    print(summary(output.name, outputs[output.name]));
  }
  if (!command.saveOutputs.empty())
    writeNpz(command.saveOutputs, arrays);
  return command.assertBundle.empty() ? kDone : compare(command, model, outputs, tolerances);
}

} // namespace engine::cli
