#include "server/service.h"

#include <fmt/format.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "server/access.h"
#include "server/access_log.h"
#include "server/faults.h"
#include "server/site.h"
#include "server/sync.h"

namespace plimsoll::server {

// In the order in which they need each other; destroyed from the end.
struct Service::Parts {
  std::unique_ptr<Store> store;
  std::unique_ptr<Workers> workers;
  std::unique_ptr<Registry> registry;
  std::unique_ptr<Sync> sync;
  std::optional<Htpasswd> users;
  std::unique_ptr<Tokens> tokens;
  std::unique_ptr<TokenService> token_service;
  std::unique_ptr<AccessControl> access;
  Metrics metrics;
  std::unique_ptr<AccessLog> log;
  Observers observers;
  std::unique_ptr<Site> site;
  std::unique_ptr<FaultScript> script;
  std::unique_ptr<Faults> faults;
  std::unique_ptr<Server> server;
  std::mutex mutex;
  std::condition_variable_any ending;
  std::jthread expiry;

  Checked<void> start_sync(const ServiceOptions& options);
};

namespace {

Checked<std::unique_ptr<Store>> open_store(const ServiceOptions& options) {
  if (options.root.empty()) return Store::in_memory(options.memory_limit.value_or(default_memory_limit()));
  std::string root = options.root;
  while (root.size() > 1 && root.ends_with('/')) root.pop_back();
  return Store::on_disk(root, options.fsync);
}

}  // namespace

Checked<void> Service::Parts::start_sync(const ServiceOptions& options) {
  if (options.sync_from.empty()) return {};
  for (const auto& origin : options.sync_from) {
    if (!leads_to(origin, options.server.listen)) continue;
    return Refusal{fmt::format("--sync-from: {} is this server itself", origin.url.origin())};
  }
  auto started = Sync::start(options.sync_from, *store, *workers, options.server.io, options.sync_report);
  if (!started) return started.error();
  sync = std::move(*started);
  registry->set_source(sync.get());
  return {};
}

Service::Service() : parts_(std::make_unique<Parts>()) {}

Service::~Service() {
  drain(Nanos(0));
}

Checked<std::unique_ptr<Service>> Service::start(const ServiceOptions& options) {
  std::unique_ptr<Service> service(new Service());
  Parts& parts = *service->parts_;
  auto script = FaultScript::parse(options.faults, options.fault_seed);
  if (!script) return Refusal{script.error()};
  parts.script = std::make_unique<FaultScript>(std::move(*script));
  auto store = open_store(options);
  if (!store) return Refusal{store.error()};
  parts.store = std::move(*store);
  parts.workers = std::make_unique<Workers>();
  RegistryOptions registry = options.registry;
  if (const auto least = parts.script->chunk_minimum()) registry.chunk_minimum = *least;
  parts.registry = std::make_unique<Registry>(*parts.store, *parts.workers, registry);
  if (auto synced = parts.start_sync(options); !synced) return synced.error();
  http::Handler* api = parts.registry.get();
  if (!options.htpasswd.empty()) {
    auto users = Htpasswd::load(options.htpasswd);
    if (!users) return Refusal{users.error()};
    parts.users = std::move(*users);
  }
  const Htpasswd* users = parts.users ? &*parts.users : nullptr;
  if (options.token_auth) {
    parts.tokens = std::make_unique<Tokens>(TokenOptions{.lifetime = options.token_lifetime});
    parts.token_service = std::make_unique<TokenService>(*parts.tokens, users, *parts.workers);
  }
  if (users != nullptr || options.token_auth) {
    parts.access = std::make_unique<AccessControl>(*api, users, parts.tokens.get(), *parts.workers);
    api = parts.access.get();
  }
  parts.site = std::make_unique<Site>(*api, parts.metrics, *parts.store, parts.registry->sessions());
  parts.site->set_token_service(parts.token_service.get());
  if (parts.sync) parts.metrics.set_sync(&parts.sync->counts());
  for (const auto& [prefix, directory] : options.files) {
    auto files = StaticFiles::open(prefix, directory, *parts.workers);
    if (!files) return Refusal{files.error()};
    parts.site->add_files(std::move(*files));
  }
  parts.observers.add(parts.metrics);
  if (!options.access_log.empty()) {
    auto log =
        AccessLog::open(options.access_log, options.access_log_json ? LogFormat::json : LogFormat::combined);
    if (!log) return Refusal{log.error()};
    parts.log = std::move(*log);
    parts.observers.add(*parts.log);
  }
  http::Handler* outermost = parts.site.get();
  if (!parts.script->empty()) {
    parts.faults = std::make_unique<Faults>(*outermost, *parts.script);
    outermost = parts.faults.get();
  }
  auto server =
      Server::start(options.server, *outermost, *parts.workers, &parts.observers, parts.faults.get());
  if (!server) return Refusal{server.error()};
  parts.server = std::move(*server);
  parts.expiry = std::jthread([&parts, expiry = options.upload_expiry](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      {
        std::unique_lock lock(parts.mutex);
        parts.ending.wait_for(lock, stop, std::min<Nanos>(expiry / 2, std::chrono::seconds(30)),
                              [] { return false; });
      }
      parts.registry->sessions().expire(now() - expiry);
    }
  });
  return service;
}

const Server& Service::server() const {
  return *parts_->server;
}

Store& Service::store() {
  return *parts_->store;
}

std::string Service::url() const {
  return fmt::format("{}://{}", parts_->server->secure() ? "https" : "http",
                     parts_->server->addresses().front().to_string());
}

void Service::drain(Nanos patience) {
  // Requests that wait for a copy are in flight: both end by the same time.
  if (parts_->sync) parts_->sync->request_stop(patience);
  if (parts_->server) parts_->server->drain(patience);
  if (parts_->store) parts_->store->flush();
}

}  // namespace plimsoll::server
