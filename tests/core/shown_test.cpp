// Foreign text in messages: on one line, without control over the terminal, and short.
#include <gtest/gtest.h>

#include "core/shown.hpp"

namespace tilewright::core {
namespace {

TEST(Shown, PrintableTextStays) {
  for (const char* text : {"", "a.npy", "x \\ y",
                           "\xc3\x9c"
                           "bung.npy",
                           "\xe6\xbc\xa2\xe5\xad\x97", "\xf0\x9f\x99\x82"})
    EXPECT_EQ(shown(text), text);
}

TEST(Shown, ControlCharactersAndOtherBytesThanUtf8AreEscaped) {
  EXPECT_EQ(shown("a\n\t\x1b[0m\x7f"), "a\\x0a\\x09\\x1b[0m\\x7f");
  EXPECT_EQ(shown(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(shown("\xff\x93NUMPY"), "\\xff\\x93NUMPY");
  EXPECT_EQ(shown("\xc2\x9b"), "\\xc2\\x9b") << "a control character of two bytes";
  EXPECT_EQ(shown("\xc0\x8a"), "\\xc0\\x8a") << "a line feed, spelled too long";
  EXPECT_EQ(shown("\xe0\x80\x8a"), "\\xe0\\x80\\x8a");
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a surrogate pair";
  EXPECT_EQ(shown("\xe2\x80\xae"
                  "x"),
            "\\xe2\\x80\\xaex")
      << "turns the direction of the line";
  EXPECT_EQ(shown("\xe6\xbc"), "\\xe6\\xbc") << "cut off";
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "past the last character";
}

std::string times(std::size_t count, char c, std::string_view end = {}) { return std::string(count, c).append(end); }

TEST(Shown, OfLongTextTheMiddleIsLeftOut) {
  EXPECT_EQ(shown(times(60, 'x')), times(60, 'x'));
  EXPECT_EQ(shown(times(61, 'x', "b")), times(28, 'x', "...").append(times(28, 'x', "b")));
  EXPECT_EQ(shown("0123456789", 7), "01...89");
  EXPECT_EQ(shown("\n\n\n\n\n\n", 5), "\\x0a...\\x0a");
  EXPECT_EQ(shown_file(times(5000, 'd', "/c.npy")).size(), longest_shown_file);
  EXPECT_TRUE(shown_file(times(5000, 'd', "/c.npy")).ends_with("/c.npy"));
}

TEST(Shown, PrintableLeavesNothingOut) {
  EXPECT_EQ(printable(times(1000, 'x', "\r")), times(1000, 'x', "\\x0d"));
  EXPECT_EQ(printable(printable("\n")), printable("\n"));
}

}  // namespace
}  // namespace tilewright::core
