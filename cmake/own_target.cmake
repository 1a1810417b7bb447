# tilewright_own_target(TARGET): what every target of this project is compiled with, and no target of a user.
#
# -ffp-contract=off: the same plan gives the same bits, so a multiplication and an addition become one rounding only where the
# code says so. GCC would otherwise merge them wherever a file's instruction set allows it.
find_path(TILEWRIGHT_FMT_INCLUDE fmt/format.h)
if(TILEWRIGHT_FMT_INCLUDE AND EXISTS "${TILEWRIGHT_FMT_INCLUDE}/fmt/core.h")
  file(STRINGS "${TILEWRIGHT_FMT_INCLUDE}/fmt/core.h" fmt_version_line REGEX "^#define FMT_VERSION ")
  string(REGEX REPLACE "^#define FMT_VERSION " "" TILEWRIGHT_FMT_VERSION "${fmt_version_line}")
endif()

function(tilewright_own_target target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wconversion -ffp-contract=off)
  # fmt without its shared library: src/core/fmt.cpp compiles fmt 9, Debian 12's. Another version may have other functions
  # to compile, so every file then gets them all, which is slower to build and always complete.
  if(NOT TILEWRIGHT_FMT_VERSION MATCHES "^9[0-9][0-9][0-9][0-9]$")
    target_compile_definitions(${target} PRIVATE FMT_HEADER_ONLY=)
  endif()
  # Warnings of a compiler that nobody has tried stay warnings: they must not stop a user's build.
  if(TILEWRIGHT_WERROR AND
     ((CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.") OR
      (CMAKE_CXX_COMPILER_ID STREQUAL Clang AND CMAKE_CXX_COMPILER_VERSION MATCHES "^14\\.")))
    target_compile_options(${target} PRIVATE -Werror)
  endif()
  if(TILEWRIGHT_SANITIZE)
    set(sanitize -fsanitize=${TILEWRIGHT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(${target} PRIVATE ${sanitize})
    target_link_options(${target} PUBLIC ${sanitize})
  endif()
endfunction()
