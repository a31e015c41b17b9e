package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/expect"
)

// onDisk runs the program with a small disk of its own at DIR/disk: a tmpfs in
// a private mount namespace, which is gone with the program. before, if not
// empty, is a piece of shell script that prepares the disk.
func onDisk(t *testing.T, options, before string, args ...string) ended {
	t.Helper()
	dir := t.TempDir()
	expect.NoError(t, os.Mkdir(filepath.Join(dir, "disk"), 0o755))
	script := `exec unshare --mount sh -c 'mount -t tmpfs -o "$1" tmpfs disk && shift && ` + before + ` exec "$0" "$@"' "$0" ` + options + ` "$@"`
	e := ends(t, command{dir: dir, args: args, shell: script})
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

// TestAFullDiskConvictsNobody has an application fail since what it prints finds no room.
func TestAFullDiskConvictsNobody(t *testing.T) {
	t.Parallel()
	e := onDisk(t, "size=1m", "", "app", "--db", databaseOf(t, "filled"), "--tries", "1", "--must-survive", "--out", "disk/run", "--",
		"sh", "-c", `psql -qc "SELECT 1"; head -c 400k /dev/zero`)
	if e.code != exitCannotRun || strings.Contains(e.stdout, "✗") {
		t.Errorf("%v", e)
	}
	expect.Text(t, "what is said", unwrapped(e.stdout+e.stderr), "? not known", "what the application printed could not be kept", "no space left on device", "write disk/run/report.html")
	if strings.Contains(e.stdout, "report.html") {
		t.Errorf("it names a page that is not there: %s", e.stdout)
	}
}

// filledAt is a piece of script that fills the disk when the run has made a file of more
// than so many kilobytes.
func filledAt(file, kilobytes string) string {
	return "{ { for i in $(seq 3000); do if [ -n \"$(find disk/run -name \"" + file + "\" -size +" + kilobytes + "k)\" ]; then head -c 200m /dev/zero >disk/full; break; fi; sleep 0.02; done; } >/dev/null 2>&1 & };"
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options, before string
		args            []string
		code            int
		says            []string
	}{
		"before loading":       {"size=2m", "", []string{"--accounts", "1000000"}, exitCannotRun, []string{"has room for", "takes about", "--out"}},
		"for a long run":       {"size=2m", "", []string{"--db", "mem://", "--duration", "1h"}, exitCannotRun, []string{"has room for", "takes about", "--out"}},
		"from the beginning":   {"size=2m", "head -c 1800k /dev/zero >disk/full;", nil, exitCannotRun, []string{"at the end", "no space left", "--out"}},
		"without inodes":       {"size=64m,nr_inodes=6", "", nil, exitCannotRun, []string{"at the end", "no space left", "--out"}},
		"of a series":          {"size=64m,nr_inodes=6", "", []string{"--repeat", "2"}, exitCannotRun, []string{"at the end", "no space left", "--out"}},
		"for a series' length": {"size=2m", "", []string{"--db", "mem://", "--repeat", "20"}, exitCannotRun, []string{"has room for", "takes about"}},
		"while loading":        {"size=64m", filledAt("bank.sqlite*", "1000"), []string{"--accounts", "300000", "--ops", "10"}, exitCannotRun, []string{"of 300,000 accounts", "full", "free space"}},
		"while working":        {"size=64m", filledAt("history.bin", "0"), []string{"--db", "mem://?latency=1ms", "--clients", "64", "--duration", "1m", "--plain"}, exitNoVerdict, []string{"not recorded", "history.bin", "no space left", "UNKNOWN"}},
		"with its database":    {"size=64m", filledAt("history.bin", "0"), []string{"--duration", "1m", "--plain"}, exitNoVerdict, []string{"not recorded", "history.bin", "no space left", "UNKNOWN"}},
	}
	for name, test := range tests {
		e := onDisk(t, test.options, test.before, append([]string{"run", "bank", "--out", "disk/run"}, test.args...)...)
		if e.code != test.code {
			t.Errorf("%s: %v", name, e)
		}
		expect.Text(t, name, e.stdout+e.stderr, test.says...)
	}
}

// TestNoRoomIsFoundBeforeLoading: nothing is made in a database for a run whose folder has
// no room, and no folder is left.
func TestNoRoomIsFoundBeforeLoading(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "bank.sqlite")
	e := onDisk(t, "size=64m,nr_inodes=6", "", "run", "bank", "--db", "sqlite:"+database, "--out", "disk/run", "--ops", "10").want(t, exitCannotRun)
	expect.Text(t, e, e.complaint(t), "disk/run", "no space left")
	if _, err := os.Stat(database); err == nil {
		t.Error("the database was made")
	}
	study := filepath.Join(t.TempDir(), "study.yaml")
	writeFile(t, "title: T\nsizes: {laptop: {ops: 10, accounts: 100}}\nexperiments:\n  one: {workload: bank, clients: 1}\n", study)
	onDisk(t, "size=64m,nr_inodes=6", "", "study", study, "--out", "disk/made").want(t, exitCannotRun)
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
		{[]string{"660k", "740k", "1220k"}, folder, []string{"bank", "--ops", "300", "--accounts", "1000"}},
		{[]string{"660k", "740k"}, memory, []string{"bank", "--ops", "1000", "--accounts", "1000"}},
		{[]string{"400k", "1m"}, database, []string{"bank", "--duration", "500ms", "--warmup", "0s", "--accounts", "1000"}},
		{[]string{"400k"}, database, []string{"isolation", "--duration", "500ms", "--warmup", "0s"}},
		{[]string{"64k"}, database, []string{"availability", "--duration", "1s", "--warmup", "0s", "--rate", "500"}},
		{[]string{"400k"}, database, []string{"entity", "--duration", "500ms", "--warmup", "0s"}},
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
