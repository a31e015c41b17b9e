#!/bin/sh
# Compares the benchmarks of the hot paths (benchstat), and the client's instructions for an
# operation on each database, with the parent commit's. Times are information. More than 5 % more
# instructions on a database end the script with 3.
#
#   scripts/compare-benchmarks.sh [ROUNDS]
#
# Both trees are built first and then run in turn, so that a slowing machine slows both: six rounds
# (benchstat's fewest for an interval) of a tenth of a second a benchmark, some two minutes in all.
# Other work on the machine changes times, but hardly instructions (bench, count), so one round of as
# many drivers as fit into eight minutes is enough. The parent goes into a temporary folder and is
# compared with the working tree.
set -eu
cd "$(dirname "$0")/.."
rounds=${1:-6}

say() { echo "compare-benchmarks: $*"; }

if ! parent=$(git rev-parse --verify --quiet 'HEAD^{commit}^1' 2>/dev/null); then
	say "there is no parent commit here (a shallow clone, or the first commit): nothing to compare with"
	say "fetch one with: git fetch --deepen 1"
	exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
mkdir "$folder/parent"
git archive "$parent" | tar -x -C "$folder/parent"

# build builds the benchmarks of one package of a tree, or reports that there are none.
build() { # TREE NAME PACKAGE
	mkdir -p "$folder/$2"
	(cd "$1" && CGO_ENABLED=0 go test -trimpath -c -o "$folder/$2/$(echo "$3" | tr / -)" "./$3") || say "$3 is not built in $2"
}

packages='load measure history check/register driver/mem driver/sqlite'
for package in $packages; do
	build "$folder/parent" before "$package"
	build . after "$package"
done
for _ in $(seq "$rounds"); do
	for side in before after; do
		for program in "$folder/$side"/*; do
			[ -x "$program" ] || continue
			"$program" -test.run '^$' -test.bench . -test.skip 'Dispatch|Snapshot' -test.benchmem -test.benchtime 100ms -test.timeout 60s \
				>>"$folder/$side.txt" 2>&1 || say "${program##*/} failed in $side"
		done
	done
done
say "the parent $(git log -1 --format='%h, %s' "$parent"), against what is here:"
go -C bench tool benchstat "before=$folder/before.txt" "after=$folder/after.txt" || say "benchstat could not compare them"

program() { (cd "$1" && CGO_ENABLED=0 go build -trimpath -ldflags -w -o "$folder/$2-assay" ./cmd/assay); }
program "$folder/parent" before || exit 0
program . after || exit 0
go -C bench build -o "$folder/bench" . || exit 0
say "the client's instructions for an operation:"
code=0
(cd bench && timeout 480 "$folder/bench" -pairs 1 -before "$folder/before-assay" -assay "$folder/after-assay") || code=$?
case $code in
0) ;;
3) exit 3 ;;
*) say "the other drivers were not counted ($code)" ;;
esac
