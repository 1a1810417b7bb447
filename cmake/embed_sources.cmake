# Writes the sources that the run-time compiler is handed into a C++ file: their text, under the name by which they are
# included. Run as a script: cmake -DROOT=… -DOUTPUT=… -DFILES=a;b -P embed_sources.cmake
set(code "// Made by cmake/embed_sources.cmake from the headers that kernels are compiled from.\n#include \"cuda/compiler.hpp\"\n\n")
string(APPEND code "namespace tilewright::cuda {\nnamespace {\n\nconstexpr SourceFile files[] = {\n")
foreach(file IN LISTS FILES)
  file(READ "${ROOT}/${file}" text)
  string(REGEX REPLACE "^include/" "" name "${file}")
  string(APPEND code "    {\"${name}\", R\"TILEWRIGHT(${text})TILEWRIGHT\"},\n")
endforeach()
string(APPEND code "};\n\n}  // namespace\n\nstd::span<const SourceFile> embedded_sources() { return files; }\n\n}  // namespace tilewright::cuda\n")
file(WRITE "${OUTPUT}" "${code}")
