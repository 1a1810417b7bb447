// A record as a page for a browser: one file that needs nothing else, neither a network nor a script.
#pragma once

#include <string>
#include <string_view>

namespace tilewright::bench {

/// The page of a record's text; `name` is the file's, for messages. Throws Error problem for a text that is no record.
std::string html_page(std::string_view record, std::string_view name);

}  // namespace tilewright::bench
