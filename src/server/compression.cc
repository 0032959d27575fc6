// Content codings of static files.
#include <zlib.h>

#include "base/text.h"
#include "server/static_files.h"

namespace plimsoll::server {
namespace {

// The weight of one member, "gzip;q=0.5"; 1 where none is given.
double weight_of(std::string_view parameters) {
  for (const auto parameter : split(parameters, ';')) {
    const auto text = trim(parameter);
    if (istarts_with(text, "q=")) return parse_double(text.substr(2)).value_or(0);
  }
  return 1;
}

}  // namespace

std::string_view choose_coding(const http::Headers& headers) {
  double gzip = 0;
  double deflate = 0;
  headers.for_each("Accept-Encoding", [&](std::string_view value) {
    http::ListMembers members(value);
    while (const auto member = members.next()) {
      const auto end = member->find(';');
      const auto coding = trim(member->substr(0, end));
      const double weight = end == std::string_view::npos ? 1 : weight_of(member->substr(end + 1));
      if (iequals(coding, "gzip") || iequals(coding, "x-gzip") || coding == "*") gzip = weight;
      if (iequals(coding, "deflate")) deflate = weight;
    }
  });
  if (gzip <= 0 && deflate <= 0) return {};
  return gzip >= deflate ? "gzip" : "deflate";
}

std::string compress(std::string_view bytes, std::string_view coding) {
  z_stream stream{};
  const int window =
      coding == "gzip" ? 15 + 16 : 15;  // "deflate" is the zlib format (RFC 9110, section 8.4.1.2)
  if (deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = deflate(&stream, Z_FINISH);
  out.resize(status == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

}  // namespace plimsoll::server
