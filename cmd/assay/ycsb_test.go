package main

import "testing"

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
