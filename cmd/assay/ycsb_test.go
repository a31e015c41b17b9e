package main

import (
	"os"
	"testing"

	"assay/internal/expect"
)

// testMixThatCannotScan: Cassandra has no order of keys, so that mix e is refused with what
// to use instead, and no run is left. The driver's tests run the others.
func testMixThatCannotScan(t *testing.T, address string) {
	dir := t.TempDir()
	text := assay(t, dir, "run", "ycsb", "--mix", "e", "--db", address, "--quiet").want(t, exitUsage).complaint(t)
	expect.Text(t, "the text", text, "scan", "Murmur3Partitioner", "possible: a mix without scans: a, b, c, d, f")
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v were left", left, err)
	}
}

// TestPropertiesReplaceWhatFlagsLeft: a run by properties has keys of text where one by flags
// has numbers, and each replaces what the other left, in one database.
func TestPropertiesReplaceWhatFlagsLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	byFlags := []string{"--records", "50", "--ops", "60", "--warmup", "0s"}
	byProperties := []string{"-p", "recordcount=50", "-p", "operationcount=60", "-p", "table=orders", "-p", "fieldcount=3"}
	for _, given := range [][]string{byFlags, byProperties, byFlags} {
		assay(t, dir, append([]string{"run", "ycsb", "--db", "sqlite:kept.db", "--quiet"}, given...)...).want(t, exitValid)
	}
}
