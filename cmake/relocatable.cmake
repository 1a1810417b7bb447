# Binaries that run on every x86-64 Linux with glibc 2.36 or later: the C++ and OpenMP runtimes are linked from their archives,
# only the C library stays dynamic. Included before find_package(OpenMP), which keeps a library that is already chosen.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  message(FATAL_ERROR "TILEWRIGHT_RELOCATABLE links GCC's runtime archives; the compiler is ${CMAKE_CXX_COMPILER_ID}. "
                      "Use g++ or build the preset release.")
endif()
execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libgomp.a
                OUTPUT_VARIABLE gomp_archive OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS "${gomp_archive}")
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} has no libgomp.a: install the development package of its GCC version.")
endif()
set(OpenMP_gomp_LIBRARY "${gomp_archive}" CACHE FILEPATH "The OpenMP runtime that is linked" FORCE)
add_link_options(-static-libstdc++ -static-libgcc -s)
