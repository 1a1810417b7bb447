# Binaries that run on every x86-64 Linux with glibc 2.36 or later: the C++ runtime is linked from its archives, only the C
# library stays dynamic.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  message(FATAL_ERROR "TILEWRIGHT_RELOCATABLE links GCC's runtime archives; the compiler is ${CMAKE_CXX_COMPILER_ID}. "
                      "Use g++ or build the preset release.")
endif()
# What no executable calls is left out, of the libraries' templates above all.
add_compile_options(-ffunction-sections -fdata-sections)
add_link_options(-static-libstdc++ -static-libgcc -s -Wl,--gc-sections)
