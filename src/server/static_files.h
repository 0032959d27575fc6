// Files below a directory, over HTTP: GET, HEAD and OPTIONS, ranges, validators with 304, gzip and deflate of what
// gains by it, an index page or a listing for directories.
//
// Paths are opened with the kernel's own confinement (openat2, RESOLVE_BENEATH): no ".." in any encoding and no link
// leads out. Small files are kept in memory, large ones open; a stat(2) a request sees changes at once.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/result.h"
#include "http/server.h"
#include "server/workers.h"

namespace plimsoll::server {

class StaticFiles final : public http::Handler {
 public:
  // `prefix`: the path that stands for the directory ("/", "/files"). Refuses what is no directory.
  static Checked<std::unique_ptr<StaticFiles>> open(std::string prefix, const std::string& directory,
                                                    Workers& workers);
  ~StaticFiles() override;

  const std::string& prefix() const { return prefix_; }
  // Whether the path lies at or below the prefix.
  bool covers(std::string_view path) const;

  net::Task<void> handle(http::Call& call) override;

 private:
  struct Entry;
  StaticFiles(std::string prefix, int directory, Workers& workers);

  // By path below the directory ("" is the directory itself); nullptr where there is none, or none to be read.
  std::shared_ptr<Entry> find(const std::string& path);
  std::shared_ptr<Entry> load(const std::string& path);
  void answer_listing(http::ServerAnswer& answer, const std::string& path);
  net::Task<void> answer_file(http::Call& call, std::shared_ptr<Entry> entry);

  std::string prefix_;
  http::File directory_;
  Workers& workers_;
  std::mutex mutex_;
  using Order = std::list<std::pair<std::string, std::shared_ptr<Entry>>>;
  Order order_;  // least recently used last
  std::unordered_map<std::string, Order::iterator> entries_;
};

// By the ending of a name; "application/octet-stream" for others.
std::string_view content_type_of(std::string_view name);
// The coding to use of those we have ("gzip", "deflate"), by Accept-Encoding; empty for none (RFC 9110, 12.5.3).
std::string_view choose_coding(const http::Headers& headers);
// zlib; empty on failure.
std::string compress(std::string_view bytes, std::string_view coding);

}  // namespace plimsoll::server
