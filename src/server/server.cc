#include "server/server.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "net/connect.h"
#include "net/loop.h"
#include "net/scope.h"
#include "net/tls.h"

namespace plimsoll::server {

using namespace std::chrono_literals;

class Server::Worker {
 public:
  Worker(const ServerOptions& options, http::Handler& handler, Workers& workers, http::Observer* observer,
         Doorkeeper* doorkeeper)
      : options_(options),
        handler_(handler),
        workers_(workers),
        observer_(observer),
        doorkeeper_(doorkeeper) {}

  void add(net::Listener listener) { listeners_.push_back(std::move(listener)); }
  const std::vector<net::Listener>& listeners() const { return listeners_; }

  // Starts the thread; why it could not begin, if so.
  Checked<net::IoKind> start() {
    std::promise<Checked<net::IoKind>> started;
    auto outcome = started.get_future();
    thread_ = std::jthread([this, &started] { run(started); });
    return outcome.get();
  }

  void request_stop(Nanos patience) {
    patience_ = patience;
    stop_requested_ = true;
    if (loop_) loop_->wake_up();
  }

  void join() {
    if (thread_.joinable()) thread_.join();
  }

 private:
  void run(std::promise<Checked<net::IoKind>>& started) {
    auto loop = net::Loop::create(options_.io);
    if (!loop) return started.set_value(Refusal{loop.error()});
    if (!options_.tls_certificate.empty()) {
      auto tls =
          net::TlsContext::server({.certificate = options_.tls_certificate,
                                   .key = options_.tls_key,
                                   .client_ca = {},
                                   .alpn = options_.limits.http2 ? std::vector<std::string>{"h2", "http/1.1"}
                                                                 : std::vector<std::string>{"http/1.1"}});
      if (!tls) return started.set_value(Refusal{tls.error()});
      tls_ = std::move(*tls);
    }
    loop_ = std::move(*loop);
    shared_.emplace(*loop_, handler_, options_.limits, observer_);
    workers_.attach(*loop_, [this] {
      if (stop_requested_) stopping_.open();
    });
    started.set_value(loop_->io());
    loop_->run(serve());
    workers_.detach(*loop_);
  }

  net::Task<void> serve() {
    for (auto& listener : listeners_) scope_.spawn(accept_all(listener));
    if (!stop_requested_) co_await stopping_.wait();
    for (auto& listener : listeners_) listener.stop();
    shared_->draining = true;
    for (auto* connection : std::vector(connections_)) connection->drain();
    const Instant deadline = now() + patience_.load();
    while (scope_.running() > 0 && now() < deadline) co_await loop_->sleep_for(2ms);
    loop_->abort_streams(kEnding);
    co_await scope_.join();
  }

  net::Task<void> accept_all(net::Listener& listener) {
    for (;;) {
      auto stream = co_await listener.accept(*loop_);
      if (!stream && stream.error().kind == ErrorKind::cancelled) co_return;
      if (!stream) continue;
      if (doorkeeper_ != nullptr && !doorkeeper_->admit()) {
        (*stream)->reset_on_close();
        continue;
      }
      scope_.spawn(serve_one(std::move(*stream)));
    }
  }

  net::Task<void> serve_one(std::unique_ptr<net::Stream> stream) {
    if (tls_) {
      const net::Patience patience{.idle = options_.limits.head,
                                   .deadline = loop_->now() + options_.limits.head};
      auto secured = co_await net::tls_accept(std::move(stream), *tls_, patience);
      if (!secured) co_return;
      stream = std::move(*secured);
    }
    http::ServerConnection connection(*shared_, std::move(stream));
    connections_.push_back(&connection);
    co_await connection.run();
    std::erase(connections_, &connection);
  }

  static constexpr Error kEnding{ErrorKind::cancelled, 0, "the server ends"};

  const ServerOptions options_;
  http::Handler& handler_;
  Workers& workers_;
  http::Observer* observer_;
  Doorkeeper* doorkeeper_;
  std::vector<net::Listener> listeners_;
  std::unique_ptr<net::TlsContext> tls_;
  std::unique_ptr<net::Loop> loop_;
  std::optional<http::ServerLoop> shared_;
  net::TaskScope scope_;
  net::Event stopping_;
  std::vector<http::ServerConnection*> connections_;
  std::atomic<bool> stop_requested_ = false;
  std::atomic<Nanos> patience_{};
  std::jthread thread_;
};

Server::Server() = default;

Server::~Server() {
  drain(0s);
}

Checked<std::unique_ptr<Server>> Server::start(const ServerOptions& options, http::Handler& handler,
                                               Workers& workers, http::Observer* observer,
                                               Doorkeeper* doorkeeper) {
  std::unique_ptr<Server> server(new Server());
  server->secure_ = !options.tls_certificate.empty();
  std::vector<net::Address> addresses = options.listen;
  for (unsigned i = 0; i < std::max(1U, options.threads); ++i) {
    auto worker = std::make_unique<Worker>(options, handler, workers, observer, doorkeeper);
    for (auto& address : addresses) {
      auto listener =
          net::Listener::open(address, {.reuse_port = options.threads > 1, .congestion = options.congestion});
      if (!listener) return Refusal{listener.error()};
      address = listener->address();  // the other threads share the port that the first one got
      worker->add(std::move(*listener));
    }
    server->workers_.push_back(std::move(worker));
  }
  server->addresses_ = std::move(addresses);
  for (auto& worker : server->workers_) {
    const auto started = worker->start();
    if (!started) return Refusal{started.error()};
    server->io_ = *started;
  }
  return server;
}

void Server::drain(Nanos patience) {
  for (auto& worker : workers_) worker->request_stop(patience);
  for (auto& worker : workers_) worker->join();
  workers_.clear();
}

}  // namespace plimsoll::server
