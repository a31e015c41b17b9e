package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestTutorial runs the commands of docs/guides/first-run.md in their order in one folder, as
// its reader does, for less time. A machine that is too busy for a valid measurement
// changes the exit code of the gate alone.
func TestTutorial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sound := []int{exitValid}
	want := map[string][]int{
		"run bank": sound, "run bank --ops 2000 --out first": sound, "check first": sound,
		"run bank --option bug=lost-ack:0.01 --ops 2000 --out lost":      {exitViolated},
		"run isolation --option bug=read-skew:0.2 --ops 2000 --out skew": {exitViolated},
		"check skew --explain": {exitViolated}, "repro skew": {exitValid, exitViolated},
		"compare durability --html comparison.html":  {exitValid},
		"compare durability --gate 'throughput>-5%'": {exitValid, exitNoVerdict}, // a busy machine answers no gate
	}
	commands := 0
	for _, c := range commandsOf(t, filepath.Join("..", "..", "docs", "guides", "first-run.md")) {
		line := strings.Replace(c.line, "go run ./cmd/assay ", "assay ", 1)
		arguments, ours := strings.CutPrefix(line, "assay ")
		if !ours {
			continue // TestDocumentedCommands knows why
		}
		commands++
		codes := want[arguments]
		if codes == nil {
			codes = sound
		}
		if arguments == "run bank" {
			line += " --duration 1s" // less than by itself
		}
		p := startLine(t, dir, strings.Replace(sooner(line), "--duration 5s", "--duration 400ms --warmup 100ms", 1))
		<-p.done
		p.wait().want(t, codes...)
	}
	if commands < len(want) {
		t.Errorf("%d commands were run, and %d are expected", commands, len(want))
	}
	for _, file := range []string{"repro.edn", "comparison.html"} {
		if text := readFile(t, dir, file); text == "" {
			t.Errorf("%s is empty", file)
		}
	}
}
