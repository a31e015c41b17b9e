package ledger

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

func TestReplicasAreJudgedExactly(t *testing.T) {
	verdicts := map[check.Verdict]int{}
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 11))
		primary := anyCopy(rng, 1+rng.IntN(3), 1+rng.IntN(4))
		replica := primary.clone()
		for range rng.IntN(4) {
			spoilCopy(rng, &replica)
		}
		rng.Shuffle(len(replica.rows), func(i, k int) {
			replica.rows[i], replica.rows[k] = replica.rows[k], replica.rows[i]
		})
		for _, room := range []int64{compareRoom, int64(rng.IntN(6))} {
			c := comparison{primary: Primary{State: primary.state}, room: room, found: newFindings(replicaKinds)}
			r, err := c.judge([]Replica{{Name: "a", State: replica.state}})
			expect.NoError(t, err)
			want := difference(primary, replica)
			verdict := check.Violated
			if len(want) == 0 {
				verdict = check.Valid
			}
			if verdicts[verdict]++; r.Verdict != verdict {
				t.Fatalf("seed %d, room for %d: %v, want %v: %s %v", seed, room, r.Verdict, verdict, r.Detail, r.Evidence)
			}
			if err := counted(&c, want, room == compareRoom); err != nil {
				t.Fatalf("seed %d, room for %d: %v: %v\n%v\n%v", seed, room, err, c.found, primary, replica)
			}
		}
	}
	if verdicts[check.Valid] < 80 || verdicts[check.Violated] < 80 {
		t.Errorf("%v", verdicts)
	}
}

// anyCopy may hold an account or a row more than once.
func anyCopy(rng *rand.Rand, accounts, rows int) (c copyOf) {
	for range accounts {
		c.accounts = append(c.accounts, held{rng.Int64N(4), rng.Int64N(2), rng.Int64N(2)})
	}
	for range rows {
		c.rows = append(c.rows, Row{rng.Int64N(4), 1, 2, rng.Int64N(2), rng.Int64N(2), rng.Int64N(2)})
	}
	return c
}

func spoilCopy(rng *rand.Rand, c *copyOf) {
	other := anyCopy(rng, 1, 1)
	a, r := rng.IntN(len(c.accounts)+1), rng.IntN(len(c.rows)+1)
	switch rng.IntN(6) {
	case 0:
		c.accounts = append(c.accounts, other.accounts[0])
	case 1:
		c.rows = append(c.rows, other.rows[0])
	case 2:
		c.accounts = append(c.accounts[:a:a], c.accounts[min(a+1, len(c.accounts)):]...)
	case 3:
		c.rows = append(c.rows[:r:r], c.rows[min(r+1, len(c.rows)):]...)
	case 4:
		if r < len(c.rows) {
			c.rows[r].Amount++
		}
	default:
		if a < len(c.accounts) {
			c.accounts[a].version++
		}
	}
}

func difference(primary, replica copyOf) map[string]int64 {
	type holding struct{ here, there map[item]int64 }
	ids := map[key]holding{}
	note := func(x item, here, there int64) {
		if ids[x.key].here == nil {
			ids[x.key] = holding{map[item]int64{}, map[item]int64{}}
		}
		ids[x.key].here[x] += here
		ids[x.key].there[x] += there
	}
	_ = primary.state(func(id, balance, version int64) { note(accountItem(id, balance, version), 1, 0) }, func(r Row) { note(rowItem(r), 1, 0) })
	_ = replica.state(func(id, balance, version int64) { note(accountItem(id, balance, version), 0, 1) }, func(r Row) { note(rowItem(r), 0, 1) })
	out := map[string]int64{}
	add := func(kind string, n int64) {
		if n > 0 {
			out[kind] += n
		}
	}
	for k, h := range ids {
		var here, there int64 // only there
		for x, n := range h.here {
			here += max(0, n-h.there[x])
			there += max(0, h.there[x]-n)
		}
		different := kindDifferentAccount
		if k.row {
			different = kindDifferentRow
		}
		add(different, min(here, there))
		add(kindMissingOnReplica, here-min(here, there))
		add(kindMissingOnPrimary, there-min(here, there))
	}
	return out
}

// counted compares the findings with the differences. With room for all they are equal; with less,
// no more of either side is reported than differs.
func counted(c *comparison, want map[string]int64, all bool) error {
	var found, differ int64
	for _, kind := range strings.Fields(replicaKinds) {
		n := c.found.Count(kind)
		if all && n != want[kind] {
			return fmt.Errorf("%d %s, want %d", n, kind, want[kind])
		}
		found += n
		differ += want[kind]
	}
	if found > differ || differ > 0 && found == 0 {
		return fmt.Errorf("%d found of %d", found, differ)
	}
	if found < differ && !c.unnamed || all && c.unnamed {
		return fmt.Errorf("%d found of %d, and at least is %v", found, differ, c.unnamed)
	}
	return nil
}
