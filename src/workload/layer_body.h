// A generated layer as a request's body: it can be read again from any offset.
#pragma once

#include <optional>

#include "http/exchange.h"
#include "oci/content.h"

namespace plimsoll::workload {

// The layer stays where it is while the body is in use.
class LayerBody final : public http::RequestBody {
 public:
  explicit LayerBody(const oci::Layer& layer) : layer_(layer) {}
  std::optional<std::uint64_t> length() const override { return layer_.size(); }
  http::BodyPiece piece(std::uint64_t offset) const override {
    const oci::ContentPiece piece = layer_.piece(offset);
    return {.bytes = piece.bytes, .file = piece.file, .file_offset = piece.file_offset};
  }

 private:
  const oci::Layer& layer_;
};

}  // namespace plimsoll::workload
