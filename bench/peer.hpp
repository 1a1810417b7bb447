// Contenders: whoever can do a job, this library included, and the ways in which each can.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tilewright/plan.hpp>
#include "bench/suite.hpp"

namespace tilewright::bench {

/// One way to do a job. Whatever it needs beyond the operands (buffers, descriptors, code made at run time) is there
/// before the first call, and what that took is not measured.
struct Way {
  std::string name;
  std::function<void()> prepare;  // not timed; before each of its turns: sets its library's threads. May be empty
  std::function<void()> run;      // the whole job, from the operands to the elements of C
};

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string name() const = 0;
  /// "OpenBLAS 0.3.21, kernels for Cooperlake": for the record.
  virtual std::string version() const = 0;
  /// The file that was opened; empty if none was.
  virtual std::string file() const = 0;
  /// All sensible ways to do this job, none if it cannot. Views and memory outlive the ways.
  virtual std::vector<Way> ways(const Job& job) = 0;
  /// Why there is none.
  virtual std::string no_way() const { return "it has no way to do this"; }
};

/// This library. The plan's open fields are the planner's choice; the way's name is the plan.
std::unique_ptr<Peer> this_library(const PlanRequest& plan);
/// The same with several plans, of which each case takes the best.
struct AskedPlan {
  std::string text;
  PlanRequest request;
  i64 workspace_bytes = 0;  // allowed for a split K, and on a GPU for copies of operands
};
std::unique_ptr<Peer> this_library(std::vector<AskedPlan> plans);

/// A peer that was looked for: opened, or the reason why not.
struct OpenedPeer {
  std::string name;
  std::unique_ptr<Peer> peer;
  std::string missing;
  std::vector<std::pair<std::string, std::string>> told;  // environment variables set for it before it was opened
};

/// The peers that open_peer knows, of a target: "cpu" or "cuda".
std::vector<std::string> peer_names(std::string_view target = "cpu");
/// Opens a peer's library. Throws Error target for a name that no target's peer_names() has.
OpenedPeer open_peer(std::string_view name);

}  // namespace tilewright::bench
