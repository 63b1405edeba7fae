// The one exception type of the engine. It carries where it happened, so that the loops that know
// (file, node, pass) add their part and the place that found the fault states only the fault.
// Nothing is thrown across the public API: runtime/ turns it into Result<T>.
#pragma once

#include <exception>
#include <string>

namespace engine {

class Error : public std::exception {
public:
  enum class Kind {
    kRefused, // the caller, the file or the feed is at fault, or the mode is not supported: exit
              // status 2
    kOutOfMemory,
    kCancelled,
    kInternal, // the engine is at fault: exit status 3
  };

  // `what` states the fault and what was expected, without a location.
  explicit Error(std::string what, Kind kind = Kind::kRefused);

  static Error internal(std::string what) { return Error(std::move(what), Kind::kInternal); }

  // Each sets its part if nobody nearer to the fault has set it, and returns *this for `throw`.
  Error &at(std::string item);                     // "input 'seqlens_k'", "attribute 'axis'"
  Error &inNode(std::string name, std::string op); // op is "domain.Type"
  Error &inPass(std::string pass);
  Error &inFile(std::string file);

  Kind kind() const { return kind_; }
  const std::string &item() const { return item_; }
  const std::string &node() const { return node_; }
  // FILE: node 'NAME' (DOMAIN.OP): item: fault
  const char *what() const noexcept override { return text_.c_str(); }

private:
  void compose();

  Kind kind_;
  std::string fault_, item_, node_, op_, pass_, file_;
  std::string text_;
};

} // namespace engine
