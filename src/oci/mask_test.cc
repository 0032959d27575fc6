#include "oci/mask.h"

#include <gtest/gtest.h>

namespace plimsoll::oci {
namespace {

TEST(Mask, HidesStatesAndSignaturesOnly) {
  EXPECT_EQ(masked_target("/v2/a/blobs/uploads/u?_state=secret&digest=sha256%3Aab"),
            "/v2/a/blobs/uploads/u?_state=...&digest=sha256%3Aab");
  EXPECT_EQ(masked_target("https://s3/x?X-Amz-Signature=s=1&X-Amz-Expires=5"),
            "https://s3/x?X-Amz-Signature=...&X-Amz-Expires=...");
  EXPECT_EQ(masked_target("/v2/a/tags/list?n=5&last=b"), "/v2/a/tags/list?n=5&last=b");
  EXPECT_EQ(masked_target("/v2/?justsecret"), "/v2/?...");
  EXPECT_EQ(masked_target("/v2/"), "/v2/");
}

}  // namespace
}  // namespace plimsoll::oci
