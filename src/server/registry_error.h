// Errors as the distribution API says them (distribution-spec, "Error Codes"), written in one place.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "http/server.h"
#include "server/contents.h"

namespace plimsoll::server {

struct RegistryError {
  int status = 500;
  std::string_view code = "UNKNOWN";  // a literal
  std::string message;
};

// What a request to the registry ends in: done, the answer is filled in, or an error to be written.
using Outcome = Result<void, RegistryError>;

RegistryError blob_unknown();
RegistryError manifest_unknown(std::string_view reference);
RegistryError name_unknown(std::string_view repository);
RegistryError name_invalid(std::string_view repository);
RegistryError upload_unknown();
RegistryError digest_invalid(std::string message);
RegistryError unsupported(std::string message);
RegistryError range_invalid(std::string message);
// On-demand sync could not ask an upstream, and there is no copy here: 502.
RegistryError upstream_failed(std::string message);
// A full or failing store; 507 and 500.
RegistryError storage_failed(const StoreError& error);

// {"errors":[{"code":...,"message":...}]}, with its status and Content-Type. Fields that were set stay.
void write_error(http::ServerAnswer& answer, const RegistryError& error);

}  // namespace plimsoll::server
