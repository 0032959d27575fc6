// Absolute http and https URLs (RFC 3986), and the resolving of references that servers send in Location and
// Link.
//
// Path and query are kept byte for byte: an upload session's query (`_state=a%2Bb%3D%3D`) comes back to the
// registry exactly as it was given, neither decoded nor normalised. Nothing here resolves names or opens
// sockets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plimsoll::http {

struct Url {
  std::string scheme = "http";  // "http" or "https", lower case
  std::string host;             // lower case; an IPv6 literal stands here without its brackets
  std::string zone;             // of a link-local IPv6 literal ("eth0"): for connecting only, never sent
  std::uint16_t port = 80;
  std::string target = "/";  // path and query as a request line has them; never empty, no fragment

  bool secure() const { return scheme == "https"; }
  bool default_port() const { return port == (secure() ? 443 : 80); }
  std::string_view path() const;   // the target up to its "?"
  std::string_view query() const;  // what follows the "?", without it; empty if there is none

  // The value of the Host field: "example.org", "[::1]:5000"; a default port is left out, and so is a zone.
  std::string authority() const;
  // "http://[::1]:5000"
  std::string origin() const;
  std::string text() const { return origin() + target; }
  // What the name resolver takes: the host, with "%zone" where there is one.
  std::string resolver_name() const;

  // Scheme, host and port agree: credentials may be sent there too.
  bool same_origin(const Url& other) const;

  friend bool operator==(const Url&, const Url&) = default;
};

// An absolute URL; a fragment is dropped. ErrorKind::protocol, with the form that was expected as its text,
// on: another scheme or none, user information (credentials have their own option), a host outside letters,
// digits,
// "-", "." and "_", a broken IPv6 literal, a port outside 1 to 65535, white space or a control character.
// Bytes above 127 in path and query are passed on as they are.
Result<Url> parse_url(std::string_view text);

// RFC 3986, section 5.2, strict, over plain text and for any scheme. `base` must be absolute.
std::string resolve_reference(std::string_view base, std::string_view reference);

// A reference as a server gives it in Location, relative to the URL that was asked: "/v2/x", "../u1",
// "?page=2",
// "//host/x", "" (the base itself). Fails as parse_url does.
Result<Url> resolve(const Url& base, std::string_view reference);

// Adds "digest=sha256:..." after "?" or, where there is a query already, after "&". What is there stays
// untouched.
std::string append_query(std::string_view target, std::string_view parameter);
Url append_query(Url url, std::string_view parameter);

}  // namespace plimsoll::http
