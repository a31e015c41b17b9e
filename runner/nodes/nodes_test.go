package nodes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/cluster"
	"assay/internal/expect"
	"assay/runner/record"
)

// TestWhatServersDoIsMarked for a listener, and they catch up: a server that ended by itself is
// started again, and its log is kept from the run's beginning.
func TestWhatServersDoIsMarked(t *testing.T) {
	t.Parallel()
	spec, err := cluster.ParseSpec("redis:1")
	expect.NoError(t, err)
	n, err := Start(t.Context(), spec, "")
	expect.NoError(t, err)
	expect.AtEnd(t, n.Close)
	var mu sync.Mutex
	var marked []string
	mark := func(event, text string) {
		mu.Lock()
		defer mu.Unlock()
		marked = append(marked, event+": "+text)
	}
	has := func(beginning string) bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.ContainsFunc(marked, func(m string) bool { return strings.HasPrefix(m, beginning) })
	}
	before := n.Logged()
	n.Loaded(t.Context())
	stop := n.Announce(mark)
	process, err := os.FindProcess(n.Node("n1").PID())
	expect.NoError(t, err)
	expect.NoError(t, process.Kill())
	for end := time.Now().Add(time.Minute); !has(record.EventDied+": n1 ended by itself") && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	n.CatchUp(t.Context(), mark)
	stop()
	if !has(record.EventDied+": n1 ended by itself") || !has(record.EventSettled+": all nodes held the same data after") || n.EndedForGood != "" {
		t.Errorf("marked %q, ended for good %q", marked, n.EndedForGood)
	}
	folder := filepath.Join(t.TempDir(), "logs")
	expect.NoError(t, n.KeepLogs(folder, before))
	name := filepath.Base(n.Node("n1").Log())
	whole, err := os.ReadFile(n.Node("n1").Log())
	expect.NoError(t, err)
	kept, err := os.ReadFile(filepath.Join(folder, name))
	expect.NoError(t, err)
	if before["n1"] == 0 || len(kept) == 0 || int64(len(kept)) > int64(len(whole))-before["n1"] {
		t.Errorf("%d bytes of %d are kept, of which %d were there before", len(kept), len(whole), before["n1"])
	}
	if r := n.Report(); r.Spec != spec.String() || len(r.Nodes) != 1 || r.StartSeconds <= 0 {
		t.Errorf("%+v", r)
	}
}

func TestARunWithoutServers(t *testing.T) {
	var none *Nodes
	none.Loaded(t.Context())
	none.Announce(func(string, string) {})()
}
