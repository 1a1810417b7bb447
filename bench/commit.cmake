# Writes SOURCE, which defines built_commit() (bench/commit.hpp): the commit of the repository ROOT, with "-dirty" where
# tracked files differ from it, or "unknown" where there is no git or no repository. The file is left alone if nothing
# changed.
set(commit unknown)
find_program(GIT git)
if(GIT)
  execute_process(COMMAND "${GIT}" -C "${ROOT}" rev-parse HEAD OUTPUT_VARIABLE hash RESULT_VARIABLE failed
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(commit "${hash}")
    execute_process(COMMAND "${GIT}" -C "${ROOT}" --no-optional-locks diff --quiet HEAD RESULT_VARIABLE differs
                    OUTPUT_QUIET ERROR_QUIET)
    if(differs)
      string(APPEND commit "-dirty")
    endif()
  endif()
endif()
set(text "#include \"bench/commit.hpp\"\n\nconst char* tilewright::bench::built_commit() { return \"${commit}\"; }\n")
set(old "")
if(EXISTS "${SOURCE}")
  file(READ "${SOURCE}" old)
endif()
if(NOT text STREQUAL old)
  file(WRITE "${SOURCE}" "${text}")
endif()
