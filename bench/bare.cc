// The bare loops that bench/versus/limits measures Plimsoll against: what the same bytes, hashes and sleeps cost with
// nothing around them. One connection, blocking calls, no parsing but for a length.
//
//   bare receive PORT PATH COUNT [nohash]   GET PATH from 127.0.0.1, COUNT times; every body through SHA-256;
//                                           prints the seconds that it took
//   bare send|sendfile PORT REPOSITORY BYTES COUNT   push one blob of BYTES, COUNT times, as POST and PUT
//   bare timer PER_SECOND SECONDS           sleep to a schedule; prints the lag's p50 and p99.9 in microseconds
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

namespace {

[[noreturn]] void stop(std::string_view why) {
  fmt::print(stderr, "bare: {}\n", why);
  std::exit(1);
}

std::int64_t now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

class Connection {
 public:
  explicit Connection(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) stop("cannot connect");
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() { close(fd_); }

  void send_all(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) stop("cannot send");
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  void send_file(int file, std::size_t size) const {
    off_t offset = 0;
    while (static_cast<std::size_t>(offset) < size) {
      if (sendfile(fd_, file, &offset, size - static_cast<std::size_t>(offset)) <= 0)
        stop("cannot send the file");
    }
  }

  // The head of an answer, up to its blank line; what came after it is at the front of body().
  std::string head() {
    std::string text;
    for (;;) {
      const std::string_view piece = more();
      text += piece;
      const auto end = text.find("\r\n\r\n");
      if (end == std::string::npos) continue;
      rest_ = piece.substr(piece.size() - (text.size() - end - 4));
      text.resize(end + 4);
      return text;
    }
  }

  // At most `most` bytes of what follows.
  std::string_view body(std::size_t most) {
    if (rest_.empty()) rest_ = more();
    const std::string_view taken = rest_.substr(0, most);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view more() {
    const ssize_t got = recv(fd_, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) stop("the peer closed");
    return {buffer_.data(), static_cast<std::size_t>(got)};
  }

  int fd_;
  std::vector<char> buffer_ = std::vector<char>(256 * 1024);
  std::string_view rest_;
};

std::string value_of(const std::string& head, std::string_view name) {
  const auto at = head.find(fmt::format("\r\n{}: ", name));
  if (at == std::string::npos) stop(fmt::format("no {} in {}", name, head));
  const auto begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

void receive(std::uint16_t port, std::string_view path, int count, bool hashed) {
  Connection peer(port);
  const std::string request = fmt::format("GET {} HTTP/1.1\r\nHost: a\r\n\r\n", path);
  EVP_MD_CTX* const hash = EVP_MD_CTX_new();
  const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  const std::int64_t start = now();
  for (int i = 0; i < count; ++i) {
    peer.send_all(request);
    auto left = std::stoull(value_of(peer.head(), "Content-Length"));
    EVP_DigestInit_ex2(hash, sha256, nullptr);
    while (left > 0) {
      const std::string_view piece = peer.body(left);
      if (hashed) EVP_DigestUpdate(hash, piece.data(), piece.size());
      left -= piece.size();
    }
    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_DigestFinal_ex(hash, digest, nullptr);
  }
  EVP_MD_CTX_free(hash);
  fmt::print("{:.6f}\n", static_cast<double>(now() - start) * 1e-9);
}

// The content is hashed once: pushes of it cost no hashing.
void push(std::uint16_t port, std::string_view repository, std::size_t size, int count, bool from_file) {
  const int file = memfd_create("content", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) stop("no memory for the content");
  auto* const content = static_cast<char*>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  if (content == MAP_FAILED) stop("no memory for the content");
  for (std::size_t i = 0; i < size; i += 4096) content[i] = static_cast<char>(i >> 12);
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned length = 0;
  EVP_Digest(content, size, digest, &length, EVP_sha256(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < length; ++i) hex += fmt::format("{:02x}", digest[i]);
  Connection peer(port);
  for (int i = 0; i < count; ++i) {
    peer.send_all(fmt::format("POST /v2/{}/blobs/uploads/ HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
                              repository));
    std::string upload = value_of(peer.head(), "Location");
    if (const auto scheme = upload.find("://"); scheme != std::string::npos)
      upload = upload.substr(upload.find('/', scheme + 3));
    peer.send_all(fmt::format("PUT {}{}digest=sha256:{} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
                              upload, upload.contains('?') ? "&" : "?", hex, size));
    if (from_file) {
      peer.send_file(file, size);
    } else {
      peer.send_all({content, size});
    }
    if (const std::string head = peer.head(); !head.starts_with("HTTP/1.1 201")) stop(head);
  }
  close(file);
}

void timer(double per_second, double seconds) {
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  std::vector<std::int64_t> lags;
  const auto count = static_cast<std::size_t>(per_second * seconds);
  lags.reserve(count);
  const std::int64_t start = now();
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t due = start + static_cast<std::int64_t>(static_cast<double>(i) / per_second * 1e9);
    const timespec until{.tv_sec = due / 1'000'000'000, .tv_nsec = due % 1'000'000'000};
    while (now() < due) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    lags.push_back(now() - due);
  }
  std::ranges::sort(lags);
  const auto at = [&lags](double p) {
    return static_cast<double>(lags[static_cast<std::size_t>(p * static_cast<double>(lags.size() - 1))]) /
           1000;
  };
  fmt::print("{:.2f} {:.2f}\n", at(0.5), at(0.999));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&words](std::size_t at) { return std::stod(words.at(at)); };
  const std::string kind = words.empty() ? "" : words[0];
  if (kind == "receive" && words.size() >= 4) {
    receive(static_cast<std::uint16_t>(number(1)), words[2], static_cast<int>(number(3)), words.size() == 4);
  } else if ((kind == "send" || kind == "sendfile") && words.size() == 5) {
    push(static_cast<std::uint16_t>(number(1)), words[2], static_cast<std::size_t>(number(3)),
         static_cast<int>(number(4)), kind == "sendfile");
  } else if (kind == "timer" && words.size() == 3) {
    timer(number(1), number(2));
  } else {
    stop("see the head of bench/bare.cc");
  }
}
