package procfs

import (
	"os"
	"slices"
	"testing"
)

// TestTableHasTheSameTrees as those that are read one by one.
func TestTableHasTheSameTrees(t *testing.T) {
	all := Now()
	own := all.Tree(os.Getpid())
	if len(own) == 0 || own[0].PID != os.Getpid() {
		t.Fatalf("the tree of this process begins with %+v", own)
	}
	above := all.Tree(own[0].Parent)
	at := slices.IndexFunc(above, func(p Process) bool { return p.PID == os.Getpid() })
	if at < 1 {
		t.Errorf("%d is not among the descendants of its parent %d: %+v", os.Getpid(), own[0].Parent, above)
	}
	if tree := all.Tree(1 << 30); tree != nil {
		t.Errorf("of a process that is not there: %+v", tree)
	}
}

// BenchmarkNow is what a look at all processes costs, in processes seen.
func BenchmarkNow(b *testing.B) {
	seen := 0
	for b.Loop() {
		seen = len(Now().processes)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(max(seen, 1)), "ns/process")
}
