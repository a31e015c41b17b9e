#!/usr/bin/env bash
# Runs a command with the output of go test and ends as it does. After a failure it repeats the
# beginning of each failed test's output at the end, where long logs are read first.
set -u -o pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

"$@" 2>&1 | tee "$log"
code=$?
if [ "$code" -ne 0 ]; then
	echo
	echo "What failed, once more:"
	awk '/--- FAIL: / { left = 15 } /^(ok|FAIL|panic:|WARNING: DATA RACE)/ { left = 0 }
		/^(panic:|WARNING: DATA RACE)/ { left = 15 }
		/^FAIL\t/ { print } left > 0 { print; left-- }' "$log"
fi
exit "$code"
