#include "oci/mask.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace plimsoll::oci {
namespace {

constexpr std::array<std::string_view, 9> kHarmless = {
    "digest", "digest-algorithm", "n", "last", "mount", "from", "ns", "tag", "artifactType"};

}  // namespace

std::string masked_target(std::string_view target) {
  const auto question = target.find('?');
  if (question == std::string_view::npos) return std::string(target);
  std::string out(target.substr(0, question));
  char joint = '?';
  for (const auto parameter : split(target.substr(question + 1), '&')) {
    const auto equals = parameter.find('=');
    const auto name = parameter.substr(0, equals);
    out += joint;
    if (std::ranges::find(kHarmless, name) != kHarmless.end()) {
      out += parameter;
    } else {
      // Without "=" the name itself may be the secret.
      if (equals != std::string_view::npos) out.append(name).append("=");
      out += "...";
    }
    joint = '&';
  }
  return out;
}

}  // namespace plimsoll::oci
