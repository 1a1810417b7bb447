// Environment variables that change what peers do, found and taken out of the way.
//
// Some are read before main() starts, by the OpenMP runtime for example, so unsetting them is too late: the process
// starts itself anew without them. They travel along under other names, so that the record can tell.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace tilewright::bench {

using Variables = std::vector<std::pair<std::string, std::string>>;  // names and values, sorted

/// Whether a variable of this name speaks to a peer or to a runtime of one: OPENBLAS_*, OMP_*, BLIS_*, and so on.
bool speaks_to_peers(const std::string& name);

/// Those of this process.
Variables variables_for_peers();

/// Starts this program again, with the same arguments and without the variables, if there are any: then it does not
/// return, except where starting fails, with the variables unset. Returns those that were found, now or before the new
/// start. To be called before a peer is opened and before there are other threads.
Variables restart_without_variables();

}  // namespace tilewright::bench
