// What an exchange was, as a step's report.
#pragma once

#include "http/exchange.h"
#include "oci/step.h"

namespace plimsoll::oci {

inline StepReport report_of(const http::Answer& answer) {
  return {.status = answer.status(),
          .sent = answer.sent_first,
          .first_byte = answer.first_byte,
          .done = answer.last_byte,
          .wire_sent = answer.wire_sent,
          .wire_received = answer.wire_received,
          .body_sent = answer.body_sent,
          .body_received = answer.body_received};
}

// Of an exchange that failed: how far it came.
inline StepReport report_of(const http::Progress& progress) {
  StepReport report{.status = progress.status, .sent = progress.sent_first, .first_byte = {}, .done = now()};
  if (progress.answer_started) report.first_byte = progress.first_byte;
  if (report.sent == Instant{}) report.sent = report.done;
  return report;
}

}  // namespace plimsoll::oci
