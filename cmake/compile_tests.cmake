# Tests that compile a file and look at what the compiler says.
#
#   tests/compile_fail/*.cpp  must be refused, and an error must hold the sentence of the file's first line: // expect: sentence
#   tests/compile_pass/*.cpp  the legal neighbours of those: must compile without a warning
#   tests/freestanding/*.cpp  the tile language without any standard header: must compile with -nostdinc and -nostdinc++
#
# Run as a script (cmake -D… -P), this file is one such test: COMPILER, FLAGS (a list), SOURCE and EXPECT (pass or fail).
if(CMAKE_SCRIPT_MODE_FILE)
  set(ENV{LC_ALL} C.UTF-8)
  execute_process(COMMAND "${COMPILER}" ${FLAGS} -fsyntax-only "${SOURCE}"
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(EXPECT STREQUAL pass)
    if(NOT status EQUAL 0 OR NOT output STREQUAL "")
      message(FATAL_ERROR "${SOURCE} must compile without a message; the compiler's status is ${status}:\n${output}")
    endif()
    return()
  endif()
  file(READ "${SOURCE}" text)
  if(NOT text MATCHES "^// expect: ([^\n]+)\n")
    message(FATAL_ERROR "${SOURCE} does not start with the line // expect: sentence")
  endif()
  set(sentence "${CMAKE_MATCH_1}")
  string(STRIP "${sentence}" sentence)
  if(status EQUAL 0)
    message(FATAL_ERROR "${SOURCE} compiles; it must be refused with: ${sentence}")
  endif()
  # Only the compiler's own words count: with source lines left out (FLAGS), the sentence comes from an error or its notes.
  string(FIND "${output}" "${sentence}" position)
  if(position EQUAL -1)
    message(FATAL_ERROR "${SOURCE} is refused without the sentence: ${sentence}\nThe compiler says:\n${output}")
  endif()
  return()
endif()

set(compile_tests_script "${CMAKE_CURRENT_LIST_FILE}")

# add_compile_tests(FOLDER EXPECT FLAG…): a CTest test <folder>.<file> for each file of tests/FOLDER.
function(add_compile_tests folder expect)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp")
  set(flags -std=c++20 "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}" -fno-diagnostics-show-caret ${ARGN})
  foreach(source IN LISTS sources)
    get_filename_component(name "${source}" NAME_WE)
    add_test(NAME ${folder}.${name}
             COMMAND "${CMAKE_COMMAND}" "-DCOMPILER=${CMAKE_CXX_COMPILER}" "-DFLAGS=${flags}" "-DSOURCE=${source}"
                     "-DEXPECT=${expect}" -P "${compile_tests_script}")
  endforeach()
endfunction()

function(tilewright_compile_tests)
  add_compile_tests(compile_fail fail)
  add_compile_tests(compile_pass pass -Wall -Wextra -Wconversion)
  add_compile_tests(freestanding pass -nostdinc -nostdinc++ -fno-exceptions -fno-rtti -Wall -Wextra -Wconversion)
endfunction()
