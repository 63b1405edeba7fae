#include "ir/error.h"

namespace engine {

Error::Error(std::string what, Kind kind) : kind_(kind), fault_(std::move(what)) { compose(); }

Error &Error::at(std::string item) {
  if (item_.empty())
    item_ = std::move(item);
  compose();
  return *this;
}

Error &Error::inNode(std::string name, std::string op) {
  if (node_.empty() && op_.empty()) {
    node_ = std::move(name);
    op_ = std::move(op);
  }
  compose();
  return *this;
}

Error &Error::inPass(std::string pass) {
  if (pass_.empty())
    pass_ = std::move(pass);
  compose();
  return *this;
}

Error &Error::inFile(std::string file) {
  if (file_.empty())
    file_ = std::move(file);
  compose();
  return *this;
}

void Error::compose() {
  text_.clear();
  if (!file_.empty())
    text_ += file_ + ": ";
  if (!pass_.empty())
    text_ += "pass '" + pass_ + "': ";
  if (!op_.empty())
    text_ += "node '" + node_ + "' (" + op_ + "): ";
  if (!item_.empty())
    text_ += item_ + ": ";
  text_ += fault_;
}

} // namespace engine
