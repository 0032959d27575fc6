#include "server/static_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "base/text.h"
#include "server/ranges.h"

namespace plimsoll::server {
namespace {

constexpr std::uint64_t kSmall = 64 * 1024;    // kept in memory
constexpr std::uint64_t kCompressLeast = 256;  // below, headers outweigh what is won
constexpr std::uint64_t kCompressMost = 8 * 1024 * 1024;
constexpr std::uint64_t kCompressHere = 64 * 1024;  // more is compressed off the loop
constexpr std::size_t kEntries = 512;

int open_beneath(int directory, const std::string& path) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(
      syscall(SYS_openat2, directory, path.empty() ? "." : path.c_str(), &how, sizeof how));
}

bool same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

bool compressible(std::string_view type) {
  return type.starts_with("text/") || type.starts_with("application/json") ||
         type.starts_with("application/javascript") || type.starts_with("application/xml") ||
         type == "image/svg+xml" || type == "application/wasm";
}

std::string escape_html(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void answer_text(http::ServerAnswer& answer, int status, std::string_view text) {
  answer.status = status;
  answer.add("Content-Type", "text/plain; charset=utf-8");
  answer.body = http::Payload::of_static(text);
}

// The path below the prefix, decoded, without empty and "." segments; nullopt for what cannot be a file's.
std::optional<std::string> clean_path(std::string_view path) {
  const auto decoded = percent_decode(path);
  if (!decoded || decoded->contains('\0')) return std::nullopt;
  std::string out;
  for (const auto segment : split(*decoded, '/')) {
    if (segment.empty() || segment == ".") continue;
    if (segment == "..") return std::nullopt;
    if (!out.empty()) out += '/';
    out += segment;
  }
  return out;
}

}  // namespace

struct StaticFiles::Entry {
  struct stat status{};
  std::string_view type;
  std::string etag;
  std::string modified;
  http::Payload content;
  std::mutex mutex;    // of the two below
  http::Payload gzip;  // made when first asked for
  http::Payload deflate;

  bool directory() const { return S_ISDIR(status.st_mode); }
  // What was packed before; of size 0 where nothing was.
  http::Payload packed(std::string_view coding) {
    const std::lock_guard lock(mutex);
    return coding == "gzip" ? gzip : deflate;
  }
};

std::string_view content_type_of(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 22> kTypes{{
      {".html", "text/html; charset=utf-8"},
      {".htm", "text/html; charset=utf-8"},
      {".txt", "text/plain; charset=utf-8"},
      {".md", "text/markdown; charset=utf-8"},
      {".css", "text/css; charset=utf-8"},
      {".csv", "text/csv; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".mjs", "text/javascript; charset=utf-8"},
      {".json", "application/json"},
      {".xml", "application/xml"},
      {".svg", "image/svg+xml"},
      {".png", "image/png"},
      {".jpg", "image/jpeg"},
      {".jpeg", "image/jpeg"},
      {".gif", "image/gif"},
      {".webp", "image/webp"},
      {".ico", "image/x-icon"},
      {".woff2", "font/woff2"},
      {".wasm", "application/wasm"},
      {".pdf", "application/pdf"},
      {".gz", "application/gzip"},
      {".tar", "application/x-tar"},
  }};
  for (const auto& [ending, type] : kTypes) {
    if (name.size() > ending.size() && iequals(name.substr(name.size() - ending.size()), ending)) return type;
  }
  return "application/octet-stream";
}

Checked<std::unique_ptr<StaticFiles>> StaticFiles::open(std::string prefix, const std::string& directory,
                                                        Workers& workers) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return Refusal{fmt::format("--static: {}: {}", directory, std::strerror(errno))};
  while (prefix.ends_with('/')) prefix.pop_back();
  return std::unique_ptr<StaticFiles>(new StaticFiles(std::move(prefix), descriptor, workers));
}

StaticFiles::StaticFiles(std::string prefix, int directory, Workers& workers)
    : prefix_(std::move(prefix)), directory_(directory), workers_(workers) {}

StaticFiles::~StaticFiles() = default;

bool StaticFiles::covers(std::string_view path) const {
  return path.starts_with(prefix_) && (path.size() == prefix_.size() || path[prefix_.size()] == '/');
}

std::shared_ptr<StaticFiles::Entry> StaticFiles::find(const std::string& path) {
  struct stat status{};
  if (fstatat(directory_.descriptor(), path.empty() ? "." : path.c_str(), &status, 0) != 0) return nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(path);
    if (at != entries_.end()) {
      if (same(at->second->second->status, status)) {
        order_.splice(order_.begin(), order_, at->second);
        return at->second->second;
      }
      order_.erase(at->second);
      entries_.erase(at);
    }
  }
  auto entry = load(path);
  if (!entry) return nullptr;
  const std::lock_guard lock(mutex_);
  if (!entries_.contains(path)) {
    order_.emplace_front(path, entry);
    entries_[path] = order_.begin();
    if (order_.size() > kEntries) {
      entries_.erase(order_.back().first);
      order_.pop_back();
    }
  }
  return entry;
}

std::shared_ptr<StaticFiles::Entry> StaticFiles::load(const std::string& path) {
  auto file = std::make_shared<http::File>(open_beneath(directory_.descriptor(), path));
  auto entry = std::make_shared<Entry>();
  if (file->descriptor() < 0 || fstat(file->descriptor(), &entry->status) != 0) return nullptr;
  if (entry->directory()) return entry;
  if (!S_ISREG(entry->status.st_mode)) return nullptr;
  const auto size = static_cast<std::uint64_t>(entry->status.st_size);
  const auto& changed = entry->status.st_mtim;
  entry->type = content_type_of(path);
  entry->etag = fmt::format("\"{:x}-{:x}\"", changed.tv_sec * 1'000'000'000LL + changed.tv_nsec, size);
  entry->modified = http::http_date(changed.tv_sec);
  if (size <= kSmall) {
    std::string bytes(size, '\0');
    if (pread(file->descriptor(), bytes.data(), size, 0) != static_cast<ssize_t>(size)) return nullptr;
    entry->content = http::Payload::of_text(std::move(bytes));
  } else {
    entry->content = http::Payload::of_file(std::move(file), 0, size);
  }
  return entry;
}

net::Task<void> StaticFiles::handle(http::Call& call) {
  http::ServerAnswer& answer = call.answer;
  using http::Method;
  const Method method = call.request.method;
  if (method == Method::options) {
    answer.status = 204;
    answer.add("Allow", "GET, HEAD, OPTIONS");
    co_return;
  }
  if (method != Method::get && method != Method::head) {
    answer.add("Allow", "GET, HEAD, OPTIONS");
    answer_text(answer, 405, "method not allowed\n");
    co_return;
  }
  const std::string_view below = call.request.path.substr(std::min(prefix_.size(), call.request.path.size()));
  const auto path = clean_path(below);
  auto entry = path ? find(*path) : nullptr;
  if (!entry) {
    answer_text(answer, 404, "not found\n");
    co_return;
  }
  if (entry->directory()) {
    if (!below.ends_with('/')) {
      answer.status = 301;
      answer.add("Location", std::string(call.request.path) + "/");
      co_return;
    }
    auto index = find(path->empty() ? "index.html" : *path + "/index.html");
    if (!index || index->directory()) {
      answer_listing(answer, *path);
      co_return;
    }
    entry = std::move(index);
  }
  co_await answer_file(call, std::move(entry));
}

net::Task<void> StaticFiles::answer_file(http::Call& call, std::shared_ptr<Entry> entry) {
  http::ServerAnswer& answer = call.answer;
  const http::Headers& headers = call.request.headers;
  answer.add("Content-Type", entry->type);
  answer.add("Last-Modified", entry->modified);
  http::Payload content = entry->content;
  std::string etag = entry->etag;
  if (compressible(entry->type)) {
    answer.add("Vary", "Accept-Encoding");
    const auto coding = headers.contains("Range") ? std::string_view{} : choose_coding(headers);
    if (!coding.empty() && content.size >= kCompressLeast && content.size <= kCompressMost) {
      http::Payload& kept = coding == "gzip" ? entry->gzip : entry->deflate;
      const auto make = [&]() -> http::Payload {
        const std::lock_guard lock(entry->mutex);
        if (kept.size == 0) {
          std::string bytes(content.bytes);
          if (content.file >= 0) {
            bytes.resize(content.size);
            if (pread(content.file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
              return {};
          }
          kept = http::Payload::of_text(compress(bytes, coding));
        }
        return kept;
      };
      auto packed = entry->packed(coding);
      if (packed.size == 0) {
        packed = content.size > kCompressHere ? co_await workers_.run(call.loop, make) : make();
      }
      if (packed.size > 0) {
        content = packed;
        answer.add("Content-Encoding", coding);
        etag.insert(etag.size() - 1, "-" + std::string(coding));
      }
    }
  }
  answer.add("ETag", etag);
  bool unchanged = false;
  if (headers.contains("If-None-Match")) {
    headers.for_each("If-None-Match", [&](std::string_view value) {
      http::ListMembers members(value);
      while (auto member = members.next()) {
        if (member->starts_with("W/")) member->remove_prefix(2);
        unchanged |= *member == "*" || *member == etag;
      }
    });
  } else if (const auto since = headers.find("If-Modified-Since")) {
    const auto time = http::parse_http_date(*since);
    unchanged = time && entry->status.st_mtim.tv_sec <= *time;
  }
  if (unchanged) {
    answer.status = 304;
    co_return;
  }
  answer_with_content(call.request, answer, content, etag);
}

void StaticFiles::answer_listing(http::ServerAnswer& answer, const std::string& path) {
  const int descriptor = open_beneath(directory_.descriptor(), path);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(descriptor < 0 ? nullptr : fdopendir(descriptor),
                                                      &closedir);
  if (!directory) return answer_text(answer, 404, "not found\n");
  std::set<std::string> names;
  while (const dirent* entry = readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.insert(entry->d_type == DT_DIR ? name + "/" : name);
  }
  const std::string title = escape_html("/" + path);
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<title>{}</title>\n<h1>{}</h1>\n<ul>\n", title, title);
  for (const auto& name : names) {
    const bool below = name.ends_with('/');
    const std::string link =
        percent_encode(name.substr(0, name.size() - (below ? 1 : 0))) + (below ? "/" : "");
    page += fmt::format("<li><a href=\"./{}\">{}</a>\n", link, escape_html(name));
  }
  page += "</ul>\n";
  answer.add("Content-Type", "text/html; charset=utf-8");
  answer.body = http::Payload::of_text(std::move(page));
}

}  // namespace plimsoll::server
