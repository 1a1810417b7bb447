#include <tilewright/describe.hpp>

#include <fmt/format.h>

namespace tilewright {
namespace {

std::string axis_text(const char* name, const describe::AxisBox& axis) {
  if (!axis.affine) return fmt::format("{} {} by a rule or table, times stride {}", axis.extent, name, axis.stride);
  return fmt::format("{} {}..{} of stride {}", name, axis.origin, axis.origin + axis.extent - 1, axis.stride);
}

}  // namespace

std::string describe_access(const describe::Access& access, std::span<const RootName> names) {
  std::string_view root = "?";
  for (const RootName& candidate : names) {
    if (candidate.root == access.root) root = candidate.name;
  }
  const char* const kind = access.kind == describe::AccessKind::load    ? "load"
                           : access.kind == describe::AccessKind::store ? "store"
                                                                        : "atomic_add";
  return fmt::format("step {}: {} {}[{}, {}]{}, the mask admits {} x {} of {} x {} elements of {} bytes", access.step,
                     kind, root, axis_text("rows", access.rows), axis_text("cols", access.cols),
                     access.offset != 0 ? fmt::format(" + {}", access.offset) : std::string(), access.rows.admitted,
                     access.cols.admitted, access.rows.extent, access.cols.extent, access.element_bytes);
}

}  // namespace tilewright
