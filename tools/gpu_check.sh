#!/bin/bash
# Checks the target cuda on this machine's GPU; the last line counts. Needs the folder bin of the preset relocatable, with
# gpu_check in it (cmake --build … --target gpu_check), the NVIDIA driver and NVRTC; nothing else.
#
# Usage: tools/gpu_check.sh [BIN]      BIN: that folder; build/relocatable/bin beside this script's folder by default
set -u -o pipefail
bin=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/relocatable/bin}
check=$bin/gpu_check
[ -x "$check" ] || { echo "gpu_check.sh: $check is not there: build it with the preset relocatable" >&2; exit 2; }
logs=$(mktemp -d) || exit 2
trap 'rm -rf "$logs"' EXIT
log=$logs/check

passed=0 failed=0
# count TEXT…: adds the last "N passed, M failed" of the log.
count() {
  local line
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
  if [[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
  else
    echo "it ended without a count" && failed=$((failed + 1))
  fi
}

timeout 400 "$check" 2>&1 | tee "$log"
count

# Problems that nobody thought of; the line of one that fails repeats it.
timeout 240 "$check" --random 20000 --threads "$(nproc)" 2>&1 | tee "$log"
count

# The same under NVIDIA's checkers, over a reduced battery: each must end clean. racecheck does not know that threads of
# a warp which met (bar.warp.sync) have read before one of them tells a barrier, so it is not asked about kernels whose
# rows stay raw beside boxes, by their names or their plans: docs/any-layout.md.
if command -v compute-sanitizer >/dev/null; then
  tools=(memcheck racecheck initcheck synccheck)
  for tool in "${tools[@]}"; do  # side by side: each is mostly one processor's work
    without=()
    [ "$tool" = racecheck ] && without=(--without "a=realign b=tma" --without "a=tma b=realign")
    {
      timeout 300 compute-sanitizer --tool "$tool" --error-exitcode 9 --report-api-errors no \
        "$check" --reduced --threads 1 "${without[@]}" >"$logs/$tool" 2>&1
      echo $? >"$logs/$tool.status"
    } &
  done
  wait
  for tool in "${tools[@]}"; do
    if [ "$(<"$logs/$tool.status")" -eq 0 ]; then
      echo "compute-sanitizer $tool: clean ($(grep -E '^[0-9]+ passed' "$logs/$tool"))" && passed=$((passed + 1))
    else
      grep -vE '^\s*$' "$logs/$tool" | head -n 40
      echo "compute-sanitizer $tool: not clean" && failed=$((failed + 1))
    fi
  done
else
  echo "compute-sanitizer: not on the path, not run"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
