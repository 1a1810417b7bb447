# What ./run and ./test share: packages, configuring, building, and output that a person can read. Sourced by bash, with
# `root` set to the repository's folder. Nothing here needs git, and the network is used only while a package is missing.

say() { printf '%s\n' "$*"; }
heading() { printf '\n── %s\n' "$*"; }
fail() {
  printf '\n%s: %s\n' "${0##*/}" "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}

# One build folder has one builder at a time.
take_lock() {
  mkdir -p "$root/build" || fail "cannot make the folder $root/build" "Unpack the project where you may write."
  exec 9>"$root/build/.lock"
  if ! flock -n 9; then
    say "another ./run or ./test is at work in this folder; waiting for it"
    flock 9
  fi
}

# need PACKAGE REASON PROBE…: notes a Debian package as missing when it is neither installed nor, under another name, there
# already (the command PROBE… succeeds).
missing=()
need() {
  local package=$1 reason=$2
  shift 2
  dpkg -s "$package" 2>/dev/null | grep -q '^Status: install ok installed' && return
  "$@" >/dev/null 2>&1 && return
  missing+=("$package")
  reasons+="  $(printf '%-22s %s' "$package" "$reason")"$'\n'
}
has() { command -v "$1"; }
has_header() { printf '#include <%s>\n' "$1" | "${CXX:-c++}" -std=c++20 -fsyntax-only -x c++ -; }

need_build_packages() {
  need g++ "the compiler" has "${CXX:-c++}"
  need cmake "the build system, 3.25 or later" has cmake
  need ninja-build "what CMake runs" has ninja
  need libfmt-dev "messages" has_header fmt/format.h
  need nlohmann-json3-dev "JSON output" has_header nlohmann/json.hpp
  need libcli11-dev "the command's arguments" has_header CLI/CLI.hpp
}

need_test_packages() {
  need libgtest-dev "GoogleTest" has_header gtest/gtest.h
  need librapidcheck-dev "property tests" has_header rapidcheck.h
  need clang "fuzzing (libFuzzer)" has clang++
  need libclang-rt-dev "fuzzing (the runtimes)" fuzzer_links
  need python3 "the checking scripts" has python3
  need python3-numpy "the results' second opinion" python3 -c "import numpy"
  need pkg-config "the packaging test" has pkg-config
  need binutils "the packaging test" has objdump
}
fuzzer_links() {
  printf 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }\n' |
    clang++ -fsanitize=fuzzer,address -x c++ - -o /dev/null
}

install_missing() {
  [ ${#missing[@]} -eq 0 ] && return
  heading "Installing what is missing"
  printf '%s' "$reasons"
  has apt-get >/dev/null ||
    fail "this system has no apt-get" "Install these by its own means (the names are Debian 12's), then start again:" \
      "${missing[*]}"
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    has sudo >/dev/null ||
      fail "packages are missing, this is not root and there is no sudo" "Let an administrator run, then start again:" \
        "apt-get install --no-install-recommends ${missing[*]}"
    as_root=(sudo)
    say "with sudo, which may ask for your password:"
  fi
  local log=$root/build/packages.log
  say "apt-get update; apt-get install --no-install-recommends ${missing[*]}"
  # A failing update is no reason to stop: the packages may be at hand. The installation decides.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update >"$log" 2>&1
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "${missing[@]}" \
    >>"$log" 2>&1 9>&- || {
    grep -E '^(E|W|Err)[: ]' "$log" | tail -n 12 >&2
    fail "apt-get could not install: ${missing[*]}" \
      "Its messages are in ${log#"$PWD"/}. Check the network and the package sources (Debian 12 has all of these), then start again."
  }
}

# As many compilations at once as there are cores, and memory: one may take 1.5 GiB.
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1572864) }' /proc/meminfo 2>/dev/null)
  [ -n "$memory" ] && [ "$memory" -lt "$cores" ] && cores=$memory
  [ "$cores" -lt 1 ] && cores=1
  echo "$cores"
}

# configure PRESET [-DNAME=VALUE…]: once, and again when the presets or a value changed, or the checkout was moved or copied.
configure() {
  local preset=$1 folder=$root/build/$1 log=$root/build/$1.configure.log fresh=() setting settled=true
  shift
  if [ -f "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$folder/CMakeCache.txt"; then
    say "build/$preset was made in another folder; configuring it again"
    fresh=(--fresh)
  elif [ -f "$folder/build.ninja" ] && ! [ "$root/CMakePresets.json" -nt "$folder/build.ninja" ]; then
    for setting in "${@#-D}"; do
      grep -qE "^${setting%%=*}:[A-Z]+=${setting#*=}\$" "$folder/CMakeCache.txt" || settled=false
    done
    $settled && return
  fi
  (cd "$root" && cmake --preset "$preset" "${fresh[@]}" "$@") >"$log" 2>&1 9>&- || {
    grep -vE '^(--|$)' "$log" | grep -A 14 -m 1 -E 'CMake Error|error' >&2 || tail -n 20 "$log" >&2
    fail "CMake could not configure the preset $preset" "All of its output: $log"
  }
}

# build PRESET TARGET…: the log goes to a file; a terminal sees one line that counts, and whoever sees a failure sees its reason.
build() {
  local preset=$1 log=$root/build/$1.build.log
  shift
  cmake --build "$root/build/$preset" -j "$(jobs)" --target "$@" 2>&1 9>&- | tee "$log" | show_progress
  local status=${PIPESTATUS[0]}
  [ "$status" -eq 0 ] && return
  grep -E -A 8 'error:|undefined reference|Killed|No space left' "$log" | head -n 40 >&2
  fail "the build of ${*} (preset $preset) failed" "All of its output: $log" \
    "A killed compiler means too little memory: close other programs and start again; what is built is kept."
}
show_progress() {
  if [ -t 1 ]; then
    local line
    while IFS= read -r line; do
      [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] && printf '\r\033[Kstep %s of %s' "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"
    done
    printf '\r\033[K'
  else
    cat >/dev/null
  fi
}
