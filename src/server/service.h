// Everything that `plimsoll serve` is, from one set of options: store, registry, access, faults, files, log, metrics
// and the server around them. Tests and other commands start the same in-process.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/registry.h"
#include "server/server.h"
#include "server/sync_origin.h"

namespace plimsoll::server {

struct ServiceOptions {
  ServerOptions server;
  RegistryOptions registry;
  std::string root;  // empty: in memory
  bool fsync = false;
  std::optional<std::uint64_t> memory_limit;  // default_memory_limit() where none is given
  Nanos upload_expiry = std::chrono::hours(1);
  std::vector<std::pair<std::string, std::string>> files;  // prefix and directory
  std::string htpasswd;
  bool token_auth = false;
  Nanos token_lifetime = std::chrono::seconds(300);
  std::string access_log;  // path, "-" for stdout; empty: none
  bool access_log_json = false;
  std::vector<std::string> faults;  // scripts, see faults.h
  std::uint64_t fault_seed = 1;
  std::vector<SyncOrigin> sync_from;                       // asked in this order
  std::function<void(std::string_view)> sync_report = {};  // hears of upstream failures, in any thread
};

class Service {
 public:
  static Checked<std::unique_ptr<Service>> start(const ServiceOptions& options);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();

  const Server& server() const;
  Store& store();
  // "http://127.0.0.1:5000", of the first address.
  std::string url() const;
  // Ends as Server::drain does, then brings the files of the store up to date.
  void drain(Nanos patience);

 private:
  struct Parts;
  Service();
  std::unique_ptr<Parts> parts_;
};

}  // namespace plimsoll::server
