package mem

import (
	"context"
	"reflect"
	"testing"

	"assay/driver/drivertest"
	"assay/workload/bank"
)

// readMember reads one member through the interface.
func (b *bench) readMember(t *testing.T, member bank.Replica) (s drivertest.Snapshot) {
	t.Helper()
	err := b.store.(bank.Replicated).ReadReplica(t.Context(), member,
		func(a bank.Account) error { s.Accounts = append(s.Accounts, a); return nil },
		func(e bank.Entry) error { s.Entries = append(s.Entries, e); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (b *bench) members(t *testing.T) (primary, other bank.Replica) {
	t.Helper()
	members, unreachable, err := b.store.(bank.Replicated).Replicas(t.Context())
	if err != nil || len(unreachable) != 0 || len(members) != 2 || !members[0].Primary || members[1].Primary {
		t.Fatalf("members %+v, unreachable %v, error %v", members, unreachable, err)
	}
	return members[0], members[1]
}

// TestMembersAgree: whatever a bug does to the books is on both members, but
// for the one that parts them.
func TestMembersAgree(t *testing.T) {
	check := func(name string, o Options) {
		b := newBench(t, o, 4)
		primary, other := b.members(t)
		for round := range 20 {
			b.mixed(50)
			if round == 10 {
				if err := b.store.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			one, two := b.readMember(t, primary), b.readMember(t, other)
			if !reflect.DeepEqual(one, two) || len(one.Accounts) != 4 || len(one.Entries) == 0 && name != "reported-never-applied" {
				t.Fatalf("%s: the members differ after %d transfers", name, 50*(round+1))
			}
			if name == "none" && !reflect.DeepEqual(one, b.read(t)) {
				t.Fatalf("the primary is not what is read")
			}
		}
	}
	check("none", Options{Seed: 1, Timeout: 0.1})
	for _, bug := range Bugs() {
		if bug.Name != "split-brain" {
			for _, chance := range []float64{0.1, 0.9} {
				check(bug.Name, Options{Seed: 7, Inject: []Injection{{bug.Name, chance}}})
			}
		}
	}
}

// TestSplitBrain: each strike leaves one row that only one member has, on
// either.
func TestSplitBrain(t *testing.T) {
	b := newBench(t, Options{Seed: 2, Inject: []Injection{{"split-brain", 0.1}}}, 4)
	b.mixed(500)
	primary, other := b.members(t)
	rows := map[int64]int{}
	for _, e := range b.readMember(t, primary).Entries {
		rows[e.ID]++
	}
	for _, e := range b.readMember(t, other).Entries {
		rows[e.ID]--
	}
	var here, there int64
	for _, n := range rows {
		switch n {
		case 1:
			here++
		case -1:
			there++
		}
	}
	if strikes := b.armed[0].strikes; here+there != strikes || here < 5 || there < 5 {
		t.Errorf("%d rows are on the primary alone and %d on the other alone, after %d strikes", here, there, strikes)
	}
	if n := len(b.copy.changed); n != 0 {
		t.Errorf("the copy remembers %d changes for nobody", n)
	}
}

func TestNobodyIsNoMember(t *testing.T) {
	b := newBench(t, Options{}, 4)
	store, nobody := b.store.(bank.Replicated), bank.Replica{Name: "mem:3"}
	err := store.ReadReplica(t.Context(), nobody, func(bank.Account) error { return nil }, func(bank.Entry) error { return nil })
	if err == nil || store.CatchUp(t.Context(), nobody) == nil {
		t.Error("somebody answered")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, other := b.members(t)
	if store.CatchUp(t.Context(), other) != nil || store.CatchUp(ended, other) == nil {
		t.Error("CatchUp does not heed its context")
	}
}

// TestMembersAreDropped with the schema.
func TestMembersAreDropped(t *testing.T) {
	b := newBench(t, Options{}, 4)
	b.mixed(10)
	if err := b.store.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(b.copy.accounts) != 0 || b.copy.rows != 0 || b.copied != 0 {
		t.Errorf("the copy has %d accounts and %d rows", len(b.copy.accounts), b.copy.rows)
	}
}
