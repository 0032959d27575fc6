// The kinds of HTTP request that the distribution flows are made of, as the result record names them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/error.h"

namespace plimsoll::oci {

enum class Step : std::uint8_t {
  ping,         // "ping GET": GET /v2/
  token,        // "token GET" or POST at the token server
  catalog,      // "catalog GET"
  tags,         // "tags GET"
  referrers,    // "referrers GET"
  upload_post,  // "upload POST": opens a session (end-4a), or mounts (end-11)
  mount_post,   // "mount POST"
  layer_post,   // "layer POST": monolithic upload in one POST (end-4b)
  config_post,
  layer_patch,  // "layer PATCH"
  config_patch,
  layer_put,  // "layer PUT": closes a session, with or without the content
  config_put,
  upload_get,     // "upload GET": what a session holds (end-13)
  upload_delete,  // "upload DELETE": cancels it
  manifest_put,   // "manifest PUT"
  manifest_head,
  manifest_get,
  config_head,
  config_get,
  layer_head,
  layer_get,
  manifest_delete,
  tag_delete,
  blob_delete,
  storage,  // "storage GET": the hop that a redirect led to
};
inline constexpr std::size_t kSteps = 26;

std::string_view name(Step step);

// What became of one request. Statuses of requests that a flow survives (a 401 before a token) are told too.
struct StepReport {
  int status = 0;  // 0 where no answer came
  Instant sent{};
  std::optional<Instant> first_byte;
  Instant done{};
  std::uint64_t wire_sent = 0;
  std::uint64_t wire_received = 0;
  std::uint64_t body_sent = 0;
  std::uint64_t body_received = 0;
};

// What explains an error or a note to a person; secrets are masked.
struct Detail {
  std::string text;     // "404 BLOB_UPLOAD_UNKNOWN: blob upload unknown to registry"
  std::string peer;     // "127.0.0.1:5000"
  std::string request;  // "PUT /v2/a/blobs/uploads/...?_state=..."
};

// Hears of every request of a client, on its thread. The client measures nothing itself.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void step(Step step, const StepReport& report) = 0;
  virtual void note(NoteKind kind, const Detail& detail) = 0;
  // The client waited so long before a request, because it was told to or because the one before had failed.
  virtual void waited(Nanos /*time*/) {}
};

}  // namespace plimsoll::oci
