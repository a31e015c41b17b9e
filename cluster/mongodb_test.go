package cluster

import (
	"testing"

	"github.com/shirou/gopsutil/v4/mem"

	"assay/internal/expect"
)

// TestMongoDBCache: as much as mongod takes of its own machine. Less would measure assay's thrift.
func TestMongoDBCache(t *testing.T) {
	machine, err := mem.VirtualMemory()
	expect.NoError(t, err)
	share := func(nodes int64) int64 { return max(256<<20, (int64(machine.Total)/nodes-1<<30)/2) }
	for spec, want := range map[string]int64{
		"mongodb:1":                        share(1),
		"mongodb:3":                        share(3),
		"mongodb:2+arbiter":                share(2),
		"mongodb:1,memory=5GiB":            2 << 30,
		"mongodb:3,memory=5GiB":            2 << 30,
		"mongodb:1,memory=512MiB":          256 << 20,
		"mongodb:1,cache=1GiB":             1 << 30,
		"mongodb:1,memory=5GiB,cache=1GiB": 1 << 30,
	} {
		s, err := ParseSpec(spec)
		expect.NoError(t, err)
		if got := mongodbCache(s); got != want {
			t.Errorf("%s: a cache of %d bytes, want %d", spec, got, want)
		}
	}
}
