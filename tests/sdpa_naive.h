// SdpaProblem by the letter, in double precision: what attention kernels are tested against.
#pragma once

#include "ir/half.h"
#include "kernels/sdpa_problem.h"

#include <cmath>
#include <limits>
#include <vector>

namespace engine::test {

inline double readElement(const View &view, int64_t offset) {
  switch (view.dtype) {
  case DType::kF32:
    return view.as<const float>()[offset];
  case DType::kF16:
    return static_cast<float>(view.as<const Half>()[offset]);
  case DType::kBF16:
    return static_cast<float>(view.as<const BFloat16>()[offset]);
  case DType::kI8:
    return view.as<const int8_t>()[offset];
  default: // kU8, kBool
    return view.as<const uint8_t>()[offset];
  }
}

inline int64_t offsetOf(const View &view, int64_t b, int64_t h, int64_t i, int64_t c) {
  return b * view.strides[0] + h * view.strides[1] + i * view.strides[2] + c * view.strides[3];
}

// A key or value element, dequantised.
inline double readCache(const View &view, const View &scale, int64_t headSize, int64_t b, int64_t h,
                        int64_t j, int64_t c) {
  if (!scale.present())
    return readElement(view, offsetOf(view, b, h, j, c));
  double code;
  if (view.dtype == DType::kU8) {
    const int byte = static_cast<int>(readElement(view, offsetOf(view, b, h, j, c / 2)));
    code = (c % 2 == 0 ? byte & 15 : byte >> 4) - 8;
  } else {
    code = readElement(view, offsetOf(view, b, h, j, c));
  }
  return code * readElement(scale, scale.count() == 1 ? 0 : h * headSize + c);
}

class NaiveSdpa {
public:
  explicit NaiveSdpa(const SdpaProblem &problem) : p_(problem) {}

  // [B, N, S, Hv], dense.
  std::vector<double> run() const {
    std::vector<double> out;
    for (int64_t b = 0; b < p_.batch(); ++b) {
      for (int64_t h = 0; h < p_.heads(); ++h) {
        for (int64_t i = 0; i < p_.queries(); ++i) {
          const std::vector<double> row = outputRow(b, h, i);
          out.insert(out.end(), row.begin(), row.end());
        }
      }
    }
    return out;
  }

private:
  std::vector<double> outputRow(int64_t b, int64_t h, int64_t i) const {
    const SdpaEntry e = p_.entry(b);
    std::vector<double> out(p_.vHeadSize(), 0.0);
    if (i >= e.queryLen)
      return out;
    std::vector<int64_t> keys;
    std::vector<double> logits;
    double max = -std::numeric_limits<double>::infinity();
    const KeyRange range = e.frame.rowRange(i);
    for (int64_t j = range.lo; j < range.hi; ++j) {
      if (!visible(e, b, h, i, j))
        continue;
      keys.push_back(j);
      logits.push_back(logit(e, b, h, i, j));
      max = std::fmax(max, logits.back());
    }
    if (keys.empty())
      return out;
    double sum = 0;
    if (p_.sink.present()) {
      const double sink = readElement(p_.sink, h * p_.sink.strides[0]);
      max = std::fmax(max, sink);
      sum = std::exp(sink - max);
    }
    for (size_t n = 0; n < keys.size(); ++n) {
      const double weight = std::exp(logits[n] - max);
      sum += weight;
      for (int64_t c = 0; c < p_.vHeadSize(); ++c)
        out[c] += weight * value(e, b, h, keys[n], c);
    }
    for (double &x : out)
      x /= sum;
    return out;
  }

  bool visible(const SdpaEntry &e, int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t column = e.frame.keyStart + j;
    if (p_.mask.present() && readElement(p_.mask, offsetOf(p_.mask, b, h, i, column)) == 0)
      return false;
    return !p_.bias.present() || readElement(p_.bias, offsetOf(p_.bias, b, h, i, column)) !=
                                     -std::numeric_limits<double>::infinity();
  }

  double logit(const SdpaEntry &e, int64_t b, int64_t h, int64_t i, int64_t j) const {
    double dot = 0;
    for (int64_t c = 0; c < p_.headSize(); ++c)
      dot += readElement(p_.q, offsetOf(p_.q, b, h, i, c)) * key(e, b, h, j, c);
    double x = p_.scale * dot;
    if (p_.softcap > 0)
      x = p_.softcap * std::tanh(x / p_.softcap);
    if (p_.bias.present())
      x += readElement(p_.bias, offsetOf(p_.bias, b, h, i, e.frame.keyStart + j));
    return x;
  }

  double key(const SdpaEntry &e, int64_t b, int64_t h, int64_t j, int64_t c) const {
    const int64_t head = h / p_.group();
    return j < e.split ? readCache(p_.k, p_.kScale, p_.headSize(), b, head, j, c)
                       : readCache(p_.kNew, p_.kScale, p_.headSize(), b, head, j - e.split, c);
  }

  double value(const SdpaEntry &e, int64_t b, int64_t h, int64_t j, int64_t c) const {
    const int64_t head = h / p_.group();
    return j < e.split ? readCache(p_.v, p_.vScale, p_.vHeadSize(), b, head, j, c)
                       : readCache(p_.vNew, p_.vScale, p_.vHeadSize(), b, head, j - e.split, c);
  }

  const SdpaProblem &p_;
};

} // namespace engine::test
