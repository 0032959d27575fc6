// Requests as they may be shown to people: without what signs or authorises them.
#pragma once

#include <string>
#include <string_view>

namespace plimsoll::oci {

// A request target or URL in which the values of query parameters are "..." unless the parameter is one of the
// specification's own (digest, n, last, mount, from, ns, ...): upload states and signatures are secrets.
std::string masked_target(std::string_view target);

}  // namespace plimsoll::oci
