// The words that both directions of HTTP share: methods, header fields, heads of requests and responses.
//
// Heads are views. Their text lies in a buffer that the parser owns, and is valid until the parser begins its next
// message; whoever wants a value for longer copies it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace plimsoll::http {

enum class Method : std::uint8_t { get, head, post, put, patch, del, options, trace, connect, other };

// "GET"; empty for `other`.
std::string_view name(Method method);
// Case matters (RFC 9110, section 9.1): "get" is `other`.
Method parse_method(std::string_view text);

// 1*tchar (RFC 9110, section 5.6.2): method names, field names, transfer codings.
bool is_token(std::string_view text);
// No control character but the tab, so that nothing can end the line it stands in (RFC 9110, section 5.5).
bool is_field_value(std::string_view text);

// "Not Found"; empty for a status that has no registered phrase.
std::string_view reason_phrase(int status);

// Walks a comma list ("close, TE"), without white space around members; empty members are skipped.
class ListMembers {
 public:
  explicit ListMembers(std::string_view text) : rest_(text) {}
  // The next member, or nullopt after the last.
  std::optional<std::string_view> next();

 private:
  std::string_view rest_;
};

// Bytes that are not HTTP. `status` is what a server answers to them; 0 means that it closes without an answer.
struct Fault {
  int status = 400;
  const char* text = "";  // static; says what is wrong
};

struct HeaderView {
  std::string_view name;
  std::string_view value;  // without white space around it

  friend bool operator==(const HeaderView&, const HeaderView&) = default;
};

// Header fields in the order of the wire. Room for fields is kept when cleared: a warm parser allocates nothing.
class Headers {
 public:
  Headers() { fields_.reserve(32); }

  void clear() { fields_.clear(); }
  void add(std::string_view name, std::string_view value) { fields_.push_back({name, value}); }

  // The first field of that name, whatever the case; nullopt if there is none. An empty value is a value.
  std::optional<std::string_view> find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name).has_value(); }
  // Calls visit(value) for each field of that name, in order: a list field may be split over several lines.
  template <class Visit>
  void for_each(std::string_view name, Visit&& visit) const;
  std::vector<std::string_view> find_all(std::string_view name) const;
  // Whether a comma list, over all lines of that name, has this member, whatever the case.
  bool list_contains(std::string_view name, std::string_view member) const;

  // The text that the views lie in has been copied from one place to another.
  void rebase(const char* from, const char* to);

  std::size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  static bool same_name(std::string_view a, std::string_view b);

  std::vector<HeaderView> fields_;
};

// How a message's body ends (RFC 9112, section 6.3).
enum class Framing : std::uint8_t { none, length, chunked, until_close };

struct ResponseHead {
  int status = 0;         // 100 to 999; what is above 599 counts as 5xx (RFC 9110, section 15)
  int minor_version = 1;  // 0 for HTTP/1.0; anything later is spoken to as 1.1
  std::string_view reason;
  Headers headers;
  Framing framing = Framing::none;
  // Content-Length, also of answers without a body (to HEAD, 304): then it speaks of what GET would give.
  std::optional<std::uint64_t> content_length;
  // A transfer coding besides chunked was applied (which we never ask for): the body's bytes are still coded.
  bool transfer_coded = false;
  bool keep_alive = false;  // another request may follow on this connection
  int major_version = 1;    // 2: HTTP/2, which has no reason phrases
};

enum class TargetForm : std::uint8_t { origin, absolute, asterisk };

struct RequestHead {
  Method method = Method::get;
  std::string_view method_text;
  std::string_view target;  // as it stands in the request line
  TargetForm form = TargetForm::origin;
  std::string_view path;  // not decoded; "*" in the asterisk form
  std::optional<std::string_view> query;
  std::string_view authority;  // of an absolute target, else the Host field; empty where HTTP/1.0 has none
  int minor_version = 1;
  Headers headers;
  Framing framing = Framing::none;
  std::optional<std::uint64_t> content_length;
  bool keep_alive = false;
  bool expect_continue = false;  // the client waits for "100 Continue" before it sends its body
  int major_version = 1;         // 2: HTTP/2, whose :authority is `authority` where there is no Host
};

// What one call of a parser's feed() found, in this order.
struct MessageStep {
  std::size_t consumed = 0;
  bool head = false;      // the head has just become complete
  std::string_view body;  // the next piece of content; lies within the bytes that were fed
  bool done = false;      // the message has ended; the bytes after `consumed` belong to the next one
};

template <class Visit>
void Headers::for_each(std::string_view name, Visit&& visit) const {
  for (const HeaderView& field : fields_) {
    if (same_name(field.name, name)) visit(field.value);
  }
}

}  // namespace plimsoll::http
