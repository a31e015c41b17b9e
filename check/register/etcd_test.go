package register

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history/exchange"
	"assay/internal/expect"
)

func readExchange(t *testing.T, src io.Reader) *History {
	t.Helper()
	r, err := exchange.NewReader(src)
	expect.NoError(t, err)
	kinds := map[exchange.Function]Kind{exchange.Read: Read, exchange.Write: Write, exchange.CompareAndSet: CompareAndSet}
	var h History
	for {
		o, err := r.Next()
		if err == io.EOF {
			return &h
		}
		expect.NoError(t, err)
		op := Op{ID: o.ID(), Process: o.Process, Kind: kinds[o.Function], Value: o.Value.String(), From: o.From.String(),
			Invoke: o.Invoke, Complete: o.Complete, InvokeTime: o.InvokeTime, CompleteTime: o.CompleteTime, Outcome: o.Outcome}
		if o.Keyed {
			op.Key = o.Key.String()
		}
		expect.NoError(t, h.Add(op))
	}
}

// The histories of etcd in porcupine are from Jepsen, 2014, when etcd answered reads without
// consensus (aphyr.com/posts/316-jepsen-etcd-and-consul). porcupine's tests say which are
// linearizable. The files stay in the module's own folder.
func TestEtcdOfJepsen(t *testing.T) {
	valid := []int{2, 5, 7, 18, 25, 31, 38, 45, 48, 49, 51, 53, 56, 67, 75, 76, 80, 87, 92, 98, 100, 101, 102}
	const failedToStart = 95 // an empty file
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	expect.NoError(t, err)
	kinds := map[string]int{}
	for n := range 103 {
		name := fmt.Sprintf("etcd_%03d.log", n)
		src, err := os.Open(filepath.Join(strings.TrimSpace(string(out)), "test_data", "jepsen", name))
		expect.NoError(t, err)
		r := Check(context.Background(), readExchange(t, src), Options{})
		src.Close()
		want := check.Violated
		switch {
		case slices.Contains(valid, n):
			want = check.Valid
		case n == failedToStart:
			want = check.Unknown
		}
		if r.Verdict != want {
			t.Errorf("%s: %v, but it is %v: %s %v", name, r.Verdict, want, r.Detail, r.Evidence)
		}
		for _, e := range r.Evidence {
			kinds[e.Kind]++
		}
	}
	t.Logf("%v", kinds)
	if kinds[kindStale] == 0 || kinds[kindUnexplained] == 0 {
		t.Errorf("only %v", kinds)
	}
}
