// Connectors of one thread to every origin that a registry sends its clients to, made when one is first
// needed, with the round trips of their handshakes told to a tally.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>

#include "http/transport.h"
#include "oci/registry_client.h"
#include "workload/peers.h"

namespace plimsoll::workload {

class MeasuredConnectors final : public oci::Connectors {
 public:
  // All connections go into the tally.
  MeasuredConnectors(const http::Transport& transport, int thread, std::shared_ptr<PeerTally> tally)
      : transport_(transport), thread_(thread), tally_(std::move(tally)) {}
  MeasuredConnectors(const MeasuredConnectors&) = delete;
  MeasuredConnectors& operator=(const MeasuredConnectors&) = delete;
  ~MeasuredConnectors() override;

  http::Connector& to(const http::Url& origin, oci::Part part) override;

 private:
  struct Known {
    http::Url origin;
    std::array<bool, 3> parts{};  // by oci::Part
    std::unique_ptr<http::Connector> connector;
    const MeasuredConnector* measured = nullptr;  // null where the name does not resolve
  };

  const http::Transport& transport_;
  int thread_;
  std::shared_ptr<PeerTally> tally_;
  std::map<std::string, Known> by_origin_;
};

}  // namespace plimsoll::workload
