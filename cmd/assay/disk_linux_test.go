package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// onDisk runs the program with a small disk of its own at DIR/disk: a tmpfs in
// a private mount namespace, which is gone with the program. before, if not
// empty, is a piece of shell script that prepares the disk.
func onDisk(t *testing.T, options, before string, args ...string) ended {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "disk"), 0o755); err != nil {
		t.Fatal(err)
	}
	script := `exec unshare --mount sh -c 'mount -t tmpfs -o "$1" tmpfs disk && shift && ` + before + ` exec "$0" "$@"' "$0" ` + options + ` "$@"`
	e := start(t, command{dir: dir, args: args, shell: script}).wait()
	if entries, err := os.ReadDir(filepath.Join(dir, "disk")); err != nil || len(entries) != 0 {
		t.Errorf("the disk was not private: %v, %v", entries, err)
	}
	return e
}

func TestReadOnlyPlaces(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"the folder":         {"run", "bank", "--out", "disk/run", "--ops", "10"},
		"the folder's place": {"run", "bank", "--out", "disk/some/where/run", "--ops", "10"},
		"an existing folder": {"run", "bank", "--out", "disk", "--ops", "10"},
		"the database":       {"run", "bank", "--db", "sqlite:disk/bank.sqlite", "--out", "run", "--ops", "10"},
	}
	for name, args := range tests {
		e := onDisk(t, "ro,size=2m", "", args...)
		said := e.complaint(t)
		if e.code != exitCannotRun || !strings.Contains(said, "disk") {
			t.Errorf("%s: %v", name, e)
		}
		if advice := []string{"--out", "name another file"}; !strings.Contains(said, advice[0]) && !strings.Contains(said, advice[1]) {
			t.Errorf("%s: %q does not say what to do", name, said)
		}
	}
	e := onDisk(t, "ro,size=2m", "cd disk &&", "run", "bank", "--ops", "10")
	if said := e.complaint(t); e.code != exitCannotRun || !strings.Contains(said, "runs") || !strings.Contains(said, "--out") {
		t.Errorf("without --out: %v", e)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		says []string
	}{
		"while loading":  {[]string{"--accounts", "1000000"}, []string{"of 1,000,000 accounts", "full", "free space"}},
		"while working":  {[]string{"--accounts", "1000", "--duration", "1h"}, []string{"history.bin", "no space left", "free space"}},
		"of the history": {[]string{"--db", "mem://?latency=1ms", "--clients", "64", "--duration", "1h"}, []string{"history.bin", "no space left"}},
	}
	for name, test := range tests {
		e := onDisk(t, "size=2m", "", append([]string{"run", "bank", "--out", "disk/run"}, test.args...)...)
		said := e.complaint(t)
		if e.code != exitCannotRun {
			t.Errorf("%s: %v", name, e)
		}
		for _, part := range test.says {
			if !strings.Contains(said, part) {
				t.Errorf("%s: %q does not say %q", name, said, part)
			}
		}
	}
	e := onDisk(t, "size=2m", "head -c 2088k /dev/zero >disk/full;", "run", "bank", "--out", "disk/run")
	// The first that needs space is the lease on the run's own database.
	if said := e.complaint(t); e.code != exitCannotRun || !strings.Contains(said, "disk is full") || !strings.Contains(said, "free space") {
		t.Errorf("from the beginning: %v", e)
	}
}

// TestFullDiskConvictsNobody fills the disk at every moment: disks of growing
// size are full while it is loaded, worked, read back and reported. That is no
// verdict (exit 4) or no run (5), or none of it was seen (0).
func TestFullDiskConvictsNobody(t *testing.T) {
	t.Parallel()
	database, folder := []string{"--db", "sqlite:disk/file.sqlite", "--out", "run"}, []string{"--out", "disk/run"}
	memory := []string{"--db", "mem://", "--out", "disk/run"}
	tests := []struct {
		sizes []string
		place []string
		args  []string
	}{
		{[]string{"60k", "100k", "140k", "220k", "620k"}, folder, []string{"bank", "--ops", "300", "--accounts", "1000"}},
		{[]string{"60k", "100k", "140k", "180k"}, memory, []string{"bank", "--ops", "1000", "--accounts", "1000"}},
		{[]string{"400k", "1m"}, database, []string{"bank", "--duration", "1s", "--warmup", "0s", "--accounts", "1000"}},
		{[]string{"400k"}, database, []string{"isolation", "--duration", "1s", "--warmup", "0s"}},
		{[]string{"64k"}, database, []string{"availability", "--duration", "2s", "--warmup", "0s", "--rate", "500"}},
		{[]string{"400k"}, database, []string{"entity", "--duration", "1s", "--warmup", "0s"}},
		{[]string{"300k", "2m"}, database, []string{"candles", "--candles", "5000", "--tickers", "10", "--queries", "500", "--intervals", "5", "--repeats", "20"}},
		{[]string{"300k", "2m"}, database, []string{"churn", "--rows", "4000"}},
		{[]string{"300k"}, database, []string{"bulkupdate", "--users", "20", "--documents", "100"}},
	}
	for _, test := range tests {
		for _, size := range test.sizes {
			e := onDisk(t, "size="+size, "", append(append([]string{"run"}, test.args...), test.place...)...)
			if e.code != exitValid && e.code != exitNoVerdict && e.code != exitCannotRun {
				t.Errorf("%v on a disk of %s: %v", test.args, size, e)
			}
		}
	}
}
