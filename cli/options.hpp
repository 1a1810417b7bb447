// Options: reading their values, and saying what is wrong with them.
//
// Values are parsed here and not by CLI11, whose integers accept octal, hexadecimal and whatever fits after a wrap.
#pragma once

#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <tilewright/dtype.hpp>

namespace tilewright::cli {

/// A mistake on the command line: exit code 2, and a pointer to the command's help.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A decimal integer, at least `least`. Throws UsageError naming the option.
i64 parse_integer(std::string_view option, std::string_view text, i64 least);

/// A number of threads, as many as the library takes. Throws UsageError naming --threads.
i64 parse_threads(std::string_view text);

/// Bytes: an integer with an optional suffix K, M or G (powers of 1024). Throws UsageError.
i64 parse_bytes(std::string_view option, std::string_view text);

/// Two integers "m,n", each at least 0. Throws UsageError.
std::pair<i64, i64> parse_pair(std::string_view option, std::string_view text);

/// The candidate with the fewest edits from word, if they are few enough to mean a slip of the fingers.
std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates);

/// Options of a command; `type` stands for the value in the help. A value that looks like an option is refused, because
/// it is most likely the next option, whose predecessor lacks its value.
CLI::Option* add_text(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                      const std::string& type, const std::string& help);
CLI::Option* add_integer(CLI::App& app, const std::string& name, std::optional<i64>& target, i64 least,
                         const std::string& type, const std::string& help);
/// --threads.
CLI::Option* add_threads(CLI::App& app, std::optional<i64>& target, const std::string& help);
CLI::Option* add_bytes(CLI::App& app, const std::string& name, std::optional<i64>& target, const std::string& help);
CLI::Option* add_choice(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                        std::vector<std::string> choices, const std::string& help);

/// The formatter of the help: wraps every text to 80 columns. A command's description is one line for the list of
/// commands, then an empty line and the rest.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* command) const override;
};

}  // namespace tilewright::cli
