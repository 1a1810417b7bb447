// What a call throws, for tests of refusals: the code and the words of the message both count.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

#include <tilewright/error.hpp>

namespace tilewright {

/// Expects that `call` throws an Error of this code whose message holds every one of `words`.
template <class Call>
void expect_error(ErrorCode code, std::initializer_list<std::string_view> words, Call call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(name_of(error.code()), name_of(code)) << error.what();
    for (const std::string_view word : words) {
      EXPECT_NE(std::string_view(error.what()).find(word), std::string_view::npos)
          << "no \"" << word << "\" in: " << error.what();
    }
    return;
  }
  ADD_FAILURE() << "nothing was thrown; expected " << name_of(code);
}

}  // namespace tilewright
