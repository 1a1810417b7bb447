// The peers, one file each. Each opens its library, and throws std::runtime_error with the reason where it cannot.
//
// Declarations of foreign functions are the few that are called.
#pragma once

#include <memory>

#include "bench/peer.hpp"

namespace tilewright::bench {

std::unique_ptr<Peer> open_openblas();
std::unique_ptr<Peer> open_blis();
std::unique_ptr<Peer> open_onednn();

// On a GPU, whose context must be current. A driver's error is an Error, which is one of those.
std::unique_ptr<Peer> open_cublas();
std::unique_ptr<Peer> open_cublaslt();
std::unique_ptr<Peer> open_pad();

}  // namespace tilewright::bench
