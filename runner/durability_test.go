package runner

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/check"
	"assay/cluster"
	"assay/workload/bank"
)

// TestRowsLostWithThePower: after a power cut, missing rows do not mean that a user emptied the
// table.
func TestRowsLostWithThePower(t *testing.T) {
	for fault, want := range map[string]bool{"power-cut all at 1s for 1s": true, "power-cut=torn n1 every 5s for 1s": true, "kill n1 at 1s": false} {
		if got := (Scenario{Cluster: "cassandra:3", Faults: []string{fault}}).cutsPower(); got != want {
			t.Errorf("%s: %v", fault, got)
		}
	}
}

// lying makes a PostgreSQL, which said that commits wait for the disk, not wait once the work
// begins.
type lying struct {
	unmonitored
	t    *testing.T
	spec string
	done bool
}

func (l *lying) Phase(name string) {
	if name != PhaseWarmup {
		return
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	records, err := cluster.Records()
	if err != nil {
		l.t.Error(err)
	}
	for _, r := range records {
		if !r.Own() || r.Spec != l.spec {
			continue
		}
		conn, err := pgx.Connect(ctx, r.Address)
		if err != nil {
			l.t.Error(err)
			return
		}
		defer conn.Close(ctx)
		for _, statement := range []string{"ALTER SYSTEM SET synchronous_commit = off", "SELECT pg_reload_conf()"} {
			if _, err := conn.Exec(ctx, statement); err != nil {
				l.t.Error(err)
			}
		}
		l.done = true
	}
}

// TestALyingServerIsConvicted: it claims synchronous_commit=on. A cut nearly always loses
// something; if not, the test repeats it.
func TestALyingServerIsConvicted(t *testing.T) {
	t.Parallel()
	for range 5 {
		l := &lying{t: t, spec: "postgres:1,disk=image,shared_buffers=17MiB"}
		s := Defaults(bank.Definition())
		s.Cluster, s.Faults = l.spec, []string{"power-cut primary at 2s for 100ms"}
		s.Load.Clients, s.Load.Warmup, s.Load.Duration, s.Load.Seed = 8, 500*time.Millisecond, 4*time.Second, 1
		r := carryOutBy(t, s, Options{Monitor: l}).Result
		if !l.done {
			t.Fatal("it was not made to lie")
		}
		if r.Durability == nil || r.Durability.Class != "system crash" || r.Lost == nil {
			t.Fatalf("%+v, lost %+v", r.Durability, r.Lost)
		}
		if r.Lost.Operations > 0 {
			if r.Verdict != check.Violated || r.Lost.Beyond != r.Lost.Operations || !strings.Contains(r.Lost.Text, "promises that none is") {
				t.Errorf("%v, lost %+v", r.Verdict, r.Lost)
			}
			return
		}
	}
	t.Error("nothing was lost in five cuts")
}
