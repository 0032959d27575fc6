// Link: where the next page of a listing is (RFC 8288; distribution-spec, "Listing Tags").
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace plimsoll::oci {

// The target of the first link whose relation is `next`, byte for byte: absolute, or relative to the URL that was
// asked. Takes several lines, lists, several relations in one link, with or without quotes, in any case, other
// parameters before and after, commas and semicolons within the brackets, and a target without brackets.
std::optional<std::string_view> next_link(std::span<const std::string_view> header_values);

}  // namespace plimsoll::oci
