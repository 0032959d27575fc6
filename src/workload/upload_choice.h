// `--upload auto`: which way of uploading a registry takes, found out before anything is measured.
#pragma once

#include <string>

#include "base/result.h"
#include "net/loop.h"
#include "net/task.h"
#include "workload/registry_target.h"

namespace plimsoll::workload {

struct UploadChoice {
  UploadKind kind = UploadKind::put;
  std::string refused;  // what was tried before it: "stream: 405 UNSUPPORTED; chunk: 405 UNSUPPORTED"
};

// Pushes an image of the size class by one way after the other, the test's own first, until one is taken, and removes
// what it pushed. A refusal names what each way met. All references outlive the task.
net::Task<Checked<UploadChoice>> choose_upload(net::Loop& loop, const RegistryTarget& target,
                                               const Contents& contents, std::size_t size_class,
                                               UploadKind preferred);

}  // namespace plimsoll::workload
