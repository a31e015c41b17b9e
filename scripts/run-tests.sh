#!/usr/bin/env bash
# Runs `go test FLAGS PACKAGES` and ends as it does, with one exception: up to three tests that fail run
# once more, alone, after all others. If each passes then, they are listed as unsteady and the command
# succeeds: real servers on a busy machine can exceed a limit of their own. A data race, a panic, a test
# binary that does not end and a package that does not compile fail at once.
#
# After a failure the beginning of each failed test's output comes last, where long logs are read first.
set -u -o pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$@" 2>&1 | tee "$log"
code=$?
[ "$code" -eq 0 ] && exit 0

echo
echo "What failed, once more:"
awk '/--- FAIL: / { left = 15 } /^(ok|FAIL|panic:|WARNING: DATA RACE)/ { left = 0 }
	/^(panic:|WARNING: DATA RACE)/ { left = 15 }
	/^FAIL\t/ { print } left > 0 { print; left-- }' "$log"

grep -qE '^(panic:|fatal error:|WARNING: DATA RACE|FAIL\t.*\[(build|setup) failed\])|race detected during execution' "$log" && exit "$code"

# PACKAGE TEST for each test that failed, in one line each; "PACKAGE -" if a package failed and no test did.
failed=$(awk '/^--- FAIL: / { tests[++n] = $3 }
	/^ok / { n = 0 }
	/^FAIL\t/ { if (n == 0) print $2, "-"; for (i = 1; i <= n; i++) print $2, tests[i]; n = 0 }' "$log")
[ -z "$failed" ] && exit "$code"
[ "$(wc -l <<<"$failed")" -gt 3 ] && exit "$code"
grep -q ' -$' <<<"$failed" && exit "$code"

# The packages are at the end, and begin with a dot.
flags=()
for argument in "$@"; do
	case $argument in . | ./*) break ;; esac
	flags+=("$argument")
done
while read -r package test; do
	echo
	echo "once more, alone: $test of $package"
	"${flags[@]}" -count=1 -run "^$test\$" "$package" || exit "$code"
done <<<"$failed"
echo
echo "UNSTEADY, passed when they ran alone:"
echo "$failed"
