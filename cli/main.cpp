// The command `tilewright`: chooses a command, and turns every failure into one sentence and an exit code.
//
//   0  success            1  a check or a verification failed            2  wrong use or input, or a result that could
//   not be written
//
// Each command is a file of its own: gemm.cpp, explain.cpp, plans.cpp, check.cpp, bench.cpp, info.cpp.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <tilewright/error.hpp>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/terminal.hpp"
#include "core/shown.hpp"

namespace tilewright::cli {
namespace {

constexpr int wrong_use = 2;

constexpr const char* description =
    "Tilewright multiplies matrices of any shape and any strides, on CPUs and NVIDIA GPUs, checks the result, and "
    "explains how.";

constexpr const char* examples = R"(Examples:
  tilewright gemm a.npy b.npy -o c.npy --verify
  tilewright explain --m 130 --n 70 --k 65 --plan 64x32x32

'tilewright COMMAND --help' has the options and more examples.)";

int report(const std::string& message) {
  fmt::print(stderr, "tilewright: {}\n", core::printable(message));
  return wrong_use;
}

/// Wrong use, with the way to the help of the command that was meant.
int report_use(const CLI::App& app, const std::string& message) {
  const auto chosen = app.get_subcommands();
  return report(
      fmt::format("{}; try 'tilewright {}--help'", message, chosen.empty() ? "" : chosen[0]->get_name() + " "));
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const auto meant = nearest(word, candidates);
  return meant ? fmt::format(" (did you mean {}?)", *meant) : "";
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// What is wrong with arguments that no option and no positional took.
std::string explain_extras(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return "there is an argument too many";
  if (chosen.empty()) {
    std::vector<std::string> commands = option_names(app);
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
    return fmt::format("there is no command '{}'{}", core::shown(extras[0]), suggestion(extras[0], commands));
  }
  const auto flag =
      std::find_if(extras.begin(), extras.end(), [](const std::string& word) { return word.starts_with("-"); });
  if (flag == extras.end())
    return fmt::format("'{}' is one argument too many for {}", core::shown(extras[0]), chosen[0]->get_name());
  const std::string name = flag->substr(0, flag->find('='));
  return fmt::format("{} has no option {}{}", chosen[0]->get_name(), core::shown(name),
                     suggestion(name, option_names(*chosen[0])));
}

/// What is wrong where an option has more values than one, or none; CLI11's message begins with its name and a colon.
std::string explain_count(const CLI::App& app, const std::string& message) {
  for (const CLI::App* part : app.get_subcommands()) {
    for (const CLI::Option* option : part->get_options()) {
      const std::string name = option->get_positional() ? option->get_name() : "--" + option->get_lnames().at(0);
      const std::size_t times = option->results().size();
      if (times == 2) return fmt::format("{} is given twice; give it once", name);
      if (times > 2) return fmt::format("{} is given {} times; give it once", name, times);
    }
  }
  return message.substr(0, message.find(':')).append(" needs a value");
}

int run(int argc, char** argv) {
  prepare_process();
  CLI::App app(description, "tilewright");
  const auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("Positionals", "Arguments");
  formatter->label("SUBCOMMAND", "COMMAND");
  app.formatter(formatter);
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", "tilewright " TILEWRIGHT_VERSION, "print the version");
  app.footer(examples);
  app.require_subcommand(0, 1);
  const std::pair<const char*, Action> commands[] = {{"gemm", add_gemm(app)},   {"explain", add_explain(app)},
                                                     {"plans", add_plans(app)}, {"check", add_check(app)},
                                                     {"bench", add_bench(app)}, {"info", add_info(app)}};

  try {
    app.parse(argc, argv);
    const auto chosen = app.get_subcommands();
    if (chosen.empty()) {
      fmt::print(stderr, "{}", app.help());
      return wrong_use;
    }
    for (const auto& [name, action] : commands) {
      if (chosen[0]->get_name() == name) return action();
    }
  } catch (const CLI::CallForHelp&) {
    print(app.help());
    return 0;
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + '\n');
    return 0;
  } catch (const CLI::ExtrasError&) {
    return report_use(app, explain_extras(app));
  } catch (const CLI::ArgumentMismatch& error) {
    return report_use(app, explain_count(app, error.what()));
  } catch (const CLI::ParseError& error) {
    return report_use(app, error.what());
  } catch (const UsageError& error) {
    return report_use(app, error.what());
  }
  return wrong_use;
}

/// Everything that is not about the command line itself.
int run_and_report(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::bad_alloc&) {
    return report("there is not enough memory for this; free some, or multiply parts with --slice-a and --slice-b");
  } catch (const std::exception& error) {  // Error, and failures of the system's own
    return report(error.what());
  }
}

}  // namespace
}  // namespace tilewright::cli

int main(int argc, char** argv) { return tilewright::cli::run_and_report(argc, argv); }
