// The catalogue of errors: complete, in order, and the same as the page that documents it.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <tilewright/error.hpp>

namespace tilewright {
namespace {

TEST(ErrorCatalogue, HasEveryCodeOnceAndInOrder) {
  const auto catalogue = error_catalogue();
  ASSERT_EQ(catalogue.size(), static_cast<std::size_t>(ErrorCode::npy_size) + 1);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < catalogue.size(); ++i) {
    const ErrorEntry& entry = catalogue[i];
    EXPECT_EQ(static_cast<std::size_t>(entry.code), i);
    EXPECT_EQ(name_of(entry.code), entry.name);
    EXPECT_FALSE(entry.trigger.empty());
    EXPECT_FALSE(entry.remedy.empty());
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
  }
}

TEST(ErrorCatalogue, NamesAreThoseOfTheEnumeration) {
  // The enumeration's own text, in its order.
  std::ifstream header(TILEWRIGHT_SOURCE_DIR "/include/tilewright/error.hpp");
  std::vector<std::string> names;
  bool within = false;
  for (std::string line; std::getline(header, line);) {
    if (line.starts_with("enum class ErrorCode")) {
      within = true;
    } else if (within && line.starts_with("};"))
      within = false;
    else if (within && line.starts_with("  ") && !line.starts_with("  //"))
      names.push_back(line.substr(2, line.find(',') - 2));
  }
  ASSERT_EQ(names.size(), error_catalogue().size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(names[i], error_catalogue()[i].name);
}

TEST(ErrorCatalogue, IsThePageOfTheDocumentation) {
  struct Section {
    std::string name, text;
  };
  std::ifstream page(TILEWRIGHT_SOURCE_DIR "/docs/errors.md");
  ASSERT_TRUE(page) << "docs/errors.md cannot be opened";
  std::vector<Section> sections;
  bool within = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("#")) {
      within = line.starts_with("### `");
      if (within) sections.push_back({line.substr(5, line.rfind('`') - 5), ""});
    } else if (within) {
      sections.back().text += line + "\n";
    }
  }
  ASSERT_EQ(sections.size(), error_catalogue().size());
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const ErrorEntry& entry = error_catalogue()[i];
    EXPECT_EQ(sections[i].name, entry.name);
    const std::string trigger = "- **When:** " + std::string(entry.trigger) + ".\n";
    const std::string remedy = "- **What to do:** " + std::string(entry.remedy) + ".\n";
    EXPECT_NE(sections[i].text.find(trigger), std::string::npos) << entry.name << " lacks: " << trigger;
    EXPECT_NE(sections[i].text.find(remedy), std::string::npos) << entry.name << " lacks: " << remedy;
    EXPECT_NE(sections[i].text.find("- **Message:** `"), std::string::npos) << entry.name << " lacks an example";
  }
}

TEST(Error, CarriesCodeAndMessage) {
  const Error error(ErrorCode::too_large, "a matrix of 1x1");
  EXPECT_EQ(error.code(), ErrorCode::too_large);
  EXPECT_STREQ(error.what(), "a matrix of 1x1");
}

}  // namespace
}  // namespace tilewright
