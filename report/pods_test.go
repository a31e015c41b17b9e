package report

import (
	"slices"
	"testing"
)

func TestPodTable(t *testing.T) {
	c := &Cluster{Nodes: []ClusterNode{
		{Name: "db-0", Address: "10.0.0.7", CPU: 2, Memory: 8 << 30, Pod: &Pod{Machine: "worker-1",
			Volumes: []PodVolume{{Claim: "data-db-0", Class: "fast", Bytes: 10 << 30}, {Claim: "wal-db-0", Bytes: 1 << 30}}}},
		{Name: "db-1", Address: "10.0.0.8", Pod: &Pod{Machine: "worker-2"}},
	}}
	want := [][]string{
		{"db-0", "10.0.0.7", "worker-1", size(8 << 30), processors(2), "data-db-0 " + size(10<<30) + " fast, wal-db-0 " + size(1<<30)},
		{"db-1", "10.0.0.8", "worker-2", "no limit", "no limit", "none"},
	}
	got := clusterTable(c)
	if got.Title != "Pods" || !slices.EqualFunc(got.Rows, want, slices.Equal) {
		t.Errorf("the table is %+v, want %v", got, want)
	}
}
