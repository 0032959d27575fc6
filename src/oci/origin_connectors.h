// Connectors of one thread to every origin that a registry sends its clients to, made when one is first needed.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "http/transport.h"
#include "oci/connectors.h"

namespace plimsoll::oci {

// Connections by address, over all threads of a run. Threads add theirs when they end.
class AddressTally {
 public:
  struct Entry {
    std::string address;
    std::uint64_t connections = 0;
    std::string problem;
  };
  void add(const net::Endpoints& endpoints);
  std::vector<Entry> entries() const;

 private:
  mutable std::mutex mutex_;  // once a thread, after everything
  std::vector<Entry> entries_;
};

class OriginConnectors final : public Connectors {
 public:
  // Connections to `counted` go into the tally.
  OriginConnectors(const http::Transport& transport, int thread, http::Url counted,
                   std::shared_ptr<AddressTally> tally)
      : transport_(transport), thread_(thread), counted_(std::move(counted)), tally_(std::move(tally)) {}
  OriginConnectors(const OriginConnectors&) = delete;
  OriginConnectors& operator=(const OriginConnectors&) = delete;
  ~OriginConnectors() override;

  http::Connector& to(const http::Url& origin, Part part) override;

 private:
  const http::Transport& transport_;
  int thread_;
  http::Url counted_;
  std::shared_ptr<AddressTally> tally_;
  std::map<std::string, std::unique_ptr<http::Connector>> by_origin_;
  http::OriginConnector* counted_connector_ = nullptr;
};

}  // namespace plimsoll::oci
