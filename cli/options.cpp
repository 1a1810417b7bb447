// Reading options; see options.hpp.
#include "cli/options.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/text.hpp"
#include "core/shown.hpp"
#include "cpu/machine.hpp"

namespace tilewright::cli {
namespace {

constexpr std::size_t help_columns = 80, help_indent = 28;

/// The number at the beginning of text, which it is cut off from; nothing if there is none or it does not fit.
std::optional<i64> take_integer(std::string_view& text) {
  i64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

void refuse_option_as_value(std::string_view option, const std::string& value) {
  if (value.empty()) throw UsageError(fmt::format("{} has an empty value", option));
  if (value.size() > 2 && value.starts_with("--"))
    throw UsageError(fmt::format("{} needs a value, and '{}' looks like the next option", option, core::shown(value)));
}

std::string help_entry(const std::string& name, std::string_view description) {
  std::string out = "  " + name;
  const std::vector<std::string> lines = wrap(description, help_columns - help_indent);
  if (out.size() + 2 > help_indent) out += '\n';
  for (const std::string& line : lines) {
    const std::size_t last = out.rfind('\n') + 1;  // 0 where there is none
    out += std::string(help_indent - std::min(help_indent, out.size() - last), ' ') + line + '\n';
  }
  return out;
}

}  // namespace

i64 parse_integer(std::string_view option, std::string_view text, i64 least) {
  std::string_view rest = text;
  const auto value = take_integer(rest);
  if (!value || !rest.empty())
    throw UsageError(
        fmt::format("{} is '{}', which is not a whole number of at most 63 bits", option, core::shown(text)));
  if (*value < least) throw UsageError(fmt::format("{} is {}: it must be at least {}", option, *value, least));
  return *value;
}

i64 parse_threads(std::string_view text) {
  constexpr const char *option = "--threads", *otherwise = "leave it out for all that this process may use";
  const i64 count = parse_integer(option, text, std::numeric_limits<i64>::min());
  if (count < 1) throw UsageError(fmt::format("{} is {}: it must be at least 1; {}", option, count, otherwise));
  if (count > cpu::most_threads) {
    throw UsageError(fmt::format("{} is {}: it must be at most {}; {}", option, count, cpu::most_threads, otherwise));
  }
  return count;
}

i64 parse_bytes(std::string_view option, std::string_view text) {
  std::string_view rest = text;
  const auto value = take_integer(rest);
  const int shift = rest == ""                   ? 0
                    : rest == "K" || rest == "k" ? 10
                    : rest == "M" || rest == "m" ? 20
                    : rest == "G" || rest == "g" ? 30
                                                 : -1;
  if (!value || *value < 0 || shift < 0 || *value > (std::numeric_limits<i64>::max() >> shift))
    throw UsageError(fmt::format("{} is '{}': give a number of bytes, or one with K, M or G, such as 64M", option,
                                 core::shown(text)));
  return *value << shift;
}

std::pair<i64, i64> parse_pair(std::string_view option, std::string_view text) {
  const std::size_t comma = text.find(',');
  if (comma == std::string_view::npos)
    throw UsageError(fmt::format("{} is '{}': give a row and a column, such as 129,69", option, core::shown(text)));
  return {parse_integer(option, text.substr(0, comma), 0), parse_integer(option, text.substr(comma + 1), 0)};
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  std::size_t fewest = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    std::vector<std::size_t> row(candidate.size() + 1);  // Levenshtein: edits from the word so far to each prefix
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = std::exchange(row[0], i + 1);
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const std::size_t substituted = diagonal + (word[i] == candidate[j] ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({substituted, row[j] + 1, diagonal + 1});
      }
    }
    if (row.back() < fewest) {
      fewest = row.back();
      best = candidate;
    }
  }
  return best;
}

CLI::Option* add_text(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                      const std::string& type, const std::string& help) {
  const std::string shown = name.substr(name.rfind(',') + 1);
  return app
      .add_option_function<std::string>(
          name,
          [&target, shown](const std::string& value) {
            refuse_option_as_value(shown, value);
            target = value;
          },
          help)
      ->type_name(type);
}

CLI::Option* add_integer(CLI::App& app, const std::string& name, std::optional<i64>& target, i64 least,
                         const std::string& type, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, least](const std::string& value) {
            refuse_option_as_value(name, value);
            target = parse_integer(name, value, least);
          },
          help)
      ->type_name(type);
}

CLI::Option* add_threads(CLI::App& app, std::optional<i64>& target, const std::string& help) {
  return app
      .add_option_function<std::string>(
          "--threads",
          [&target](const std::string& value) {
            refuse_option_as_value("--threads", value);
            target = parse_threads(value);
          },
          help)
      ->type_name("N");
}

CLI::Option* add_bytes(CLI::App& app, const std::string& name, std::optional<i64>& target, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name,
          [&target, name](const std::string& value) {
            refuse_option_as_value(name, value);
            target = parse_bytes(name, value);
          },
          help)
      ->type_name("BYTES");
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, std::optional<std::string>& target,
                        std::vector<std::string> choices, const std::string& help) {
  const std::string type = fmt::format("{}", fmt::join(choices, "|"));
  return app
      .add_option_function<std::string>(
          name,
          [&target, name, choices = std::move(choices)](const std::string& value) {
            if (std::find(choices.begin(), choices.end(), value) == choices.end())
              throw UsageError(
                  fmt::format("{} is '{}': it must be one of {}", name, core::shown(value), fmt::join(choices, ", ")));
            target = value;
          },
          help)
      ->type_name(type);
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode) const {
  std::string out;
  for (const std::string& line : wrap(app->get_description(), help_columns)) out += line + '\n';
  out += '\n' + make_usage(app, std::move(name));
  out += make_positionals(app);
  out += make_groups(app, CLI::AppFormatMode::Normal);
  out += make_subcommands(app, CLI::AppFormatMode::Normal);
  out += '\n' + make_footer(app);
  for (std::size_t at = 0; (at = out.find("\n\n\n", at)) != std::string::npos;) out.erase(at, 1);
  return out;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  const std::string type = is_positional || option->get_type_size() == 0 ? "" : " " + option->get_type_name();
  return help_entry(make_option_name(option, is_positional) + type, option->get_description());
}

std::string HelpFormatter::make_subcommand(const CLI::App* command) const {
  const std::string text = command->get_description();
  return help_entry(command->get_name(), text.substr(0, text.find('\n')));
}

}  // namespace tilewright::cli
