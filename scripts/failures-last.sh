#!/usr/bin/env bash
# Runs a command that prints what go test prints, and ends as it does. If it fails, the
# beginning of what each failed test printed comes once more at the end, where hours of
# output are read first, and where a log that is cut in the middle still has it.
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
