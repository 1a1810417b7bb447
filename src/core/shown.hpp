// Text that was given by somebody else, in a message: a file's name, a cell, a piece of a header.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::core {

inline constexpr std::size_t longest_shown = 60;        // characters of a word or a cell in a message
inline constexpr std::size_t longest_shown_file = 120;  // of a file's name with its folders

/// Printable: control characters and bytes that are not UTF-8 become \x0a and the like.
std::string printable(std::string_view text);

/// Printable, and of at most so many characters (two of three more where bytes are escaped): of a longer text the
/// middle is left out, since a file's name tells most at its end.
std::string shown(std::string_view text, std::size_t most = longest_shown);

/// A file's name.
inline std::string shown_file(std::string_view name) { return shown(name, longest_shown_file); }

}  // namespace tilewright::core
