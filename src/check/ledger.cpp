#include <tilewright/tile/check/ledger.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace tilewright::exact {
namespace {

std::string place_text(const Site& site) {
  return fmt::format("program {}, K step {}, tile position ({}, {})", site.program, site.step, site.row, site.col);
}

}  // namespace

std::string_view words(FaultKind kind) {
  switch (kind) {
    case FaultKind::load_outside_buffer:
      return "load outside of the buffer";
    case FaultKind::load_outside_view:
      return "load outside of the view";
    case FaultKind::load_from_output:
      return "load from an output";
    case FaultKind::store_outside_buffer:
      return "store outside of the buffer";
    case FaultKind::store_outside_view:
      return "store outside of the view";
    case FaultKind::store_to_input:
      return "store to an input";
    case FaultKind::written_by_two_programs:
      return "element written by two programs";
    case FaultKind::written_twice:
      return "element written twice";
    case FaultKind::never_written:
      return "element never written";
    case FaultKind::output_overlaps_input:
      return "output shares memory with an input";
    case FaultKind::wrong_k_count:
      return "wrong K indices summed";
    case FaultKind::wrong_value:
      return "wrong value";
    case FaultKind::wrong_partial_sum:
      return "wrong partial sum";
    case FaultKind::refused:
      return "refused";
  }
  return "";
}

Logical locate(const MatrixView& view, i64 offset) {
  if (view.rows <= 0 || view.cols <= 0) return {false, 0, 0};
  // Strides made non-negative by counting a flipped axis from its other end; the larger one outermost.
  struct Axis {
    i64 extent, stride;
    bool flipped;
  };
  i64 rest = offset;
  const auto unflip = [&](i64 extent, i64 stride) {
    if (extent == 1) return Axis{1, 0, false};
    if (stride >= 0) return Axis{extent, stride, false};
    rest += (extent - 1) * -stride;
    return Axis{extent, -stride, true};
  };
  const Axis row = unflip(view.rows, view.row_stride);
  const Axis col = unflip(view.cols, view.col_stride);
  const bool row_outer = row.stride >= col.stride;
  const Axis& outer = row_outer ? row : col;
  const Axis& inner = row_outer ? col : row;
  if (rest < 0) return {false, 0, 0};

  const auto answer = [&](i64 o, i64 i) {
    const i64 r = row_outer ? o : i;
    const i64 c = row_outer ? i : o;
    return Logical{true, row.flipped ? view.rows - 1 - r : r, col.flipped ? view.cols - 1 - c : c};
  };
  if (outer.stride == 0) return rest == 0 ? answer(0, 0) : Logical{false, 0, 0};
  const i64 inner_reach = (inner.extent - 1) * inner.stride;
  i64 last = rest / outer.stride;
  if (last > outer.extent - 1) last = outer.extent - 1;
  for (i64 o = last; o >= 0 && rest - o * outer.stride <= inner_reach; --o) {  // one or two turns unless rows overlap
    const i64 left = rest - o * outer.stride;
    if (left == 0) return answer(o, 0);
    if (inner.stride > 0 && left % inner.stride == 0) return answer(o, left / inner.stride);
  }
  return {false, 0, 0};
}

Ledger::Ledger(const std::vector<Buffer>& buffers, Source source, bool report)
    : buffers_(buffers), source_(std::move(source)), report_(report), written_(buffers.size()) {}

void Ledger::fault(FaultKind kind, const std::string& message) {
  if (!report_) return;
  for (Fault& known : faults_) {
    if (known.kind == kind) {
      known.count += 1;  // one wrong mask makes thousands: the first of a kind is told
      return;
    }
  }
  faults_.push_back({kind, fmt::format("{}: {}", words(kind), message), 1});
}

Ledger::Place Ledger::find(const void* address, DType type) const {
  const auto at = reinterpret_cast<u64>(address);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const u64 from = at - reinterpret_cast<u64>(buffers_[i].base);  // wraps to a huge number below the base
    const auto size = static_cast<u64>(size_of(type));
    if (static_cast<u64>(buffers_[i].bytes) >= size && from <= static_cast<u64>(buffers_[i].bytes) - size &&
        from % size == 0) {
      return {static_cast<std::ptrdiff_t>(i), static_cast<i64>(from / size)};
    }
  }
  return {-1, 0};
}

/// "element 9100 of a (byte address a + 18200)", relative to the nearest buffer at or below the address.
std::string Ledger::at(const void* address, DType type) const {
  const auto where = reinterpret_cast<u64>(address);
  const Buffer* nearest = nullptr;
  i64 distance = 0;
  for (const Buffer& buffer : buffers_) {
    const i64 from = static_cast<i64>(where - reinterpret_cast<u64>(buffer.base));
    const i64 outside = from < 0 ? -from : from >= buffer.bytes ? from - buffer.bytes + 1 : 0;
    if (nearest == nullptr || outside < distance) {
      nearest = &buffer;
      distance = outside;
    }
  }
  if (nearest == nullptr) return fmt::format("address {}", where);
  const i64 from = static_cast<i64>(where - reinterpret_cast<u64>(nearest->base));
  return fmt::format("element {} of {}, which has {} elements (byte {} of {})",
                     from / size_of(type) - (from < 0 ? 1 : 0), nearest->name, nearest->bytes / size_of(type), from,
                     nearest->bytes);
}

void Ledger::check_logical(const void* root, i64 row, i64 col, i64 row_stride, i64 col_stride, DType type,
                           const Site& site, bool is_store) {
  for (const Buffer& buffer : buffers_) {
    for (const MatrixView& view : buffer.views) {
      if (view.data != root || view.type != type || view.row_stride != row_stride || view.col_stride != col_stride)
        continue;
      if (row >= 0 && row < view.rows && col >= 0 && col < view.cols) return;
      fault(is_store ? FaultKind::store_outside_view : FaultKind::load_outside_view,
            fmt::format("{}: row {}, column {} of {}, a view of {}×{} with strides ({}, {}); the element's address "
                        "would be {} elements "
                        "from the view's first",
                        place_text(site), row, col, buffer.name, view.rows, view.cols, row_stride, col_stride,
                        row * row_stride + col * col_stride));
      return;
    }
  }
}

void Ledger::check_inside_a_view(const Buffer& buffer, const void* address, DType type, const Site& site,
                                 FaultKind kind) {
  if (buffer.views.empty()) return;
  for (const MatrixView& view : buffer.views) {
    const i64 bytes = static_cast<const char*>(address) - static_cast<const char*>(view.data);
    if (view.type == type && bytes % size_of(type) == 0 && locate(view, bytes / size_of(type)).found) return;
  }
  const bool other_type = std::none_of(buffer.views.begin(), buffer.views.end(),
                                       [type](const MatrixView& view) { return view.type == type; });
  fault(kind, fmt::format("{}: {}, {}", place_text(site), at(address, type),
                          other_type ? fmt::format("taken as {}, but the view holds {}", name_of(type),
                                                   name_of(buffer.views[0].type))
                                     : "inside of the buffer but in no row or column of the view (padding or a gap)"));
}

Field Ledger::load(const void* address, DType type, const Site& site) {
  ++loads_;
  const Place place = find(address, type);
  if (place.buffer < 0) {
    fault(FaultKind::load_outside_buffer, fmt::format("{}: {}", place_text(site), at(address, type)));
    return Field::random(reinterpret_cast<u64>(address));
  }
  const auto index = static_cast<std::size_t>(place.buffer);
  const Buffer& buffer = buffers_[index];
  check_inside_a_view(buffer, address, type, site, FaultKind::load_outside_view);
  switch (buffer.role) {
    case Role::output:
    case Role::accumulated:
      fault(FaultKind::load_from_output, fmt::format("{}: {}", place_text(site), at(address, type)));
      break;
    case Role::scratch: {
      const Written* before = written(index, place.element);
      if (before == nullptr || before->launch == launch_) {
        fault(FaultKind::never_written,
              fmt::format("{}: {} is read, but no earlier launch wrote it", place_text(site), at(address, type)));
        break;
      }
      return before->value;
    }
    case Role::input:
      break;
  }
  return source_(index, place.element);
}

void Ledger::store(const void* address, DType type, Field value, const Site& site, bool atomic) {
  ++stores_;
  const Place place = find(address, type);
  if (place.buffer < 0) {
    fault(FaultKind::store_outside_buffer, fmt::format("{}: {}", place_text(site), at(address, type)));
    return;
  }
  const auto index = static_cast<std::size_t>(place.buffer);
  const Buffer& buffer = buffers_[index];
  if (buffer.role == Role::input) {
    fault(FaultKind::store_to_input, fmt::format("{}: {}", place_text(site), at(address, type)));
    return;
  }
  check_inside_a_view(buffer, address, type, site, FaultKind::store_outside_view);
  if (atomic && buffer.role == Role::output) {
    fault(FaultKind::load_from_output,
          fmt::format("{}: atomic_add to {}, an output whose contents before are not known; an output that starts as "
                      "zeros has the role accumulated",
                      place_text(site), at(address, type)));
  }
  Written& cell = written_[index][place.element];
  if (atomic && buffer.role == Role::accumulated) {
    cell.value = cell.value + value;
  } else {
    if (cell.times > 0 && cell.launch == launch_) {
      const bool other = cell.program != site.program;
      fault(other ? FaultKind::written_by_two_programs : FaultKind::written_twice,
            fmt::format("{}: {} was already written by {}", place_text(site), at(address, type),
                        other ? fmt::format("program {}", cell.program) : std::string("the same program")));
    }
    cell.value = value;
  }
  cell.program = site.program;
  cell.launch = launch_;
  cell.times += 1;
}

const Ledger::Written* Ledger::written(std::size_t buffer, i64 element) const {
  const auto found = written_[buffer].find(element);
  return found == written_[buffer].end() ? nullptr : &found->second;
}

}  // namespace tilewright::exact
