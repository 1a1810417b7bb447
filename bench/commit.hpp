// The commit that this build was made of.
#pragma once

namespace tilewright::bench {

/// Its hash, with "-dirty" where files differed from it; "unknown" outside of a repository. The build writes the
/// function's source: bench/commit.cmake.
const char* built_commit();

}  // namespace tilewright::bench
