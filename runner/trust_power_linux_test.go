package runner

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"assay/check"
	"assay/cluster/disk"
	"assay/internal/expect"
	"assay/report"
	"assay/workload/bank"
	"assay/workload/entity"
)

// The number of power cuts of each honest database; `make trust` takes more.
var trustCuts = flag.Int("trust.cuts", 2, "power cuts of each honest database")

// TestMain serves a disk, or a cluster of SQLite, if this program was started for that.
func TestMain(m *testing.M) {
	if disk.Child() {
		os.Exit(disk.Serve())
	}
	if len(os.Args) > 1 && (os.Args[1] == serveHonest || os.Args[1] == serveLying) {
		if err := serveStore(os.Args[1] == serveLying, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// onFaultyDisk is a run on one node whose disk loses unsynced writes.
func onFaultyDisk(t *testing.T, workload, product string, seed uint64, took time.Duration, fault string) Scenario {
	t.Helper()
	s := Defaults(workloadOf(workload))
	s.Cluster, s.Faults, s.NoServerStats = product+":1,disk=faulty", []string{fault}, true
	s.Load.Clients, s.Load.Warmup, s.Load.Duration, s.Load.Timeout, s.Load.Seed = 8, 200*time.Millisecond, took, 2*time.Second, seed
	switch c := s.Config.(type) {
	case *entity.Config:
		c.Entities = 100
	case *bank.Config:
		c.Accounts = 200
	}
	return s
}

func trustOnServers(t *testing.T, s Scenario, servers string) *report.Result {
	t.Helper()
	out := carryOutBy(t, s, Options{Servers: servers})
	expect.NoError(t, os.RemoveAll(out.Folder))
	return out.Result
}

// TestTrustLyingStore: a power cut convicts, with every seed, a store that acknowledges one write
// in a thousand unsynced. The end of its process alone loses nothing.
func TestTrustLyingStore(t *testing.T) {
	self, err := os.Executable()
	expect.NoError(t, err)
	folder := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nshift\nexec '%s' %s \"$@\"\n", self, serveLying)
	expect.NoError(t, os.WriteFile(filepath.Join(folder, "assay"), []byte(script), 0o755))
	killed := trustOnServers(t, onFaultyDisk(t, entity.Name, "sqlite", 1, time.Second, "kill n1 at 500ms for 50ms"), folder)
	if killed.Verdict != check.Valid || killed.Outcomes.Committed == 0 {
		t.Errorf("when it is killed: %v, %+v", killed.Verdict, killed.Checks)
	}
	var acknowledged, lost int64
	for seed := range *trustSeeds {
		r := trustOnServers(t, onFaultyDisk(t, entity.Name, "sqlite", uint64(seed)+1, time.Second, "power-cut n1 at 500ms for 50ms"), folder)
		if r.Verdict != check.Violated || r.Lost == nil || r.Lost.Beyond == 0 || r.Lost.Beyond != r.Lost.Operations {
			t.Fatalf("seed %d: %v, lost %+v, faults %+v, %+v", seed+1, r.Verdict, r.Lost, r.Faults, r.Checks)
		}
		acknowledged, lost = acknowledged+r.Outcomes.Committed, lost+r.Lost.Operations
	}
	t.Logf("convicted with %d of %d seeds; %d operations were acknowledged and %d lost", *trustSeeds, *trustSeeds, acknowledged, lost)
}

// TestTrustHonestDatabases lose nothing acknowledged, however the power is cut.
func TestTrustHonestDatabases(t *testing.T) {
	for _, x := range []struct {
		product, workload string
		every             time.Duration
	}{
		{"sqlite", entity.Name, 800 * time.Millisecond},
		{"postgres", bank.Name, 2 * time.Second},
	} {
		t.Run(x.product, func(t *testing.T) {
			const most = 10 // cuts in one run
			var acknowledged int64
			cuts := 0
			for seed := uint64(1); cuts < *trustCuts; seed++ {
				modes := disk.Modes()
				fault := fmt.Sprintf("power-cut=%s n1 every %v for 50ms", modes[seed%uint64(len(modes))], x.every)
				took := time.Duration(min(most, *trustCuts-cuts)+1) * x.every
				r := trustOnServers(t, onFaultyDisk(t, x.workload, x.product, seed, took, fault), "")
				proven := 0
				for _, f := range r.Faults {
					if f.CutAt != nil && f.Proven {
						proven++
					}
				}
				if r.Verdict != check.Valid || proven == 0 || r.Lost == nil || r.Lost.Operations != 0 {
					t.Fatalf("seed %d, %s: %v after %d cuts, lost %+v, %+v, faults %+v", seed, fault, r.Verdict, proven, r.Lost, r.Checks, r.Faults)
				}
				cuts, acknowledged = cuts+proven, acknowledged+r.Outcomes.Committed
			}
			t.Logf("%d power cuts, %d operations were acknowledged, none lost", cuts, acknowledged)
		})
	}
}
