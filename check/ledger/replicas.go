package ledger

import (
	"fmt"

	"assay/check"
	"assay/history"
)

// State streams the content of one copy of the bank: accounts and journal rows,
// each in any order. It is called at most twice and must give the same both
// times.
type State func(account func(id, balance, version int64), row func(Row)) error

// Replica is one copy to be compared with the primary's.
type Replica struct {
	// Name is shown in evidence.
	Name string
	// State is its content; nil if it was not read.
	State State
	// Incomplete, if not empty, is why it was not read to its end, or that it
	// had not caught up; it is then not compared.
	Incomplete string
}

// The kinds of evidence of replicas, most telling first.
const (
	kindMissingOnPrimary = "missing-on-primary"
	kindMissingOnReplica = "missing-on-replica"
	kindDifferentRow     = "different-row"
	kindDifferentAccount = "different-account"

	replicaKinds = kindMissingOnPrimary + " " + kindMissingOnReplica + " " + kindDifferentRow + " " + kindDifferentAccount
)

// CheckReplicas is the name of the check of replicas.
const CheckReplicas = "replicas"

// Replicas is the check "replicas": each replica has the accounts and the
// journal that the primary has. Outcome, which may be nil, is what the history
// has of a transfer (Judge.Outcome); it is only shown. Replicas
// returns the first error of a State.
//
// A state of any size is read into two megabytes of sums of fingerprints, in
// groups of ids. Where they differ both states are read again, and as many
// groups as have room, some hundred thousand rows, are compared row by row; of
// the others only the counts are.
func Replicas(primary State, replicas []Replica, outcome func(id int64) (history.Outcome, bool)) (check.Result, error) {
	c := comparison{primary: primary, outcome: outcome, room: compareRoom, found: newFindings(replicaKinds)}
	return c.judge(replicas)
}

func (c *comparison) judge(replicas []Replica) (r check.Result, err error) {
	r.Name = CheckReplicas
	if c.sums, err = sumUp(c.primary); err != nil {
		return r, fmt.Errorf("ledger: read the primary: %w", err)
	}
	compared, left := 0, ""
	for i := range replicas {
		c.replica = &replicas[i]
		switch {
		case c.replica.Incomplete != "":
			left = fmt.Sprintf("replica %s was not compared: %s", c.replica.Name, c.replica.Incomplete)
		case c.replica.State == nil:
			left = fmt.Sprintf("replica %s was not read", c.replica.Name)
		default:
			compared++
			if err := c.compare(); err != nil {
				return r, err
			}
		}
	}
	holds := fmt.Sprintf("the primary's %s and %s", check.Counted(c.sums.accounts, "account", "accounts"), journalRows(c.sums.rows))
	switch c.found.addTo(&r); {
	case r.Verdict == check.Violated:
		r.Detail = fmt.Sprintf("%s compared with %s: %v", check.Counted(compared, "replica", "replicas"), holds, c.found)
		if c.unnamed {
			r.Detail += ", at least"
		}
	case c.sums.accounts == 0:
		r.Detail = "no account was read from the primary"
	case len(replicas) == 0:
		r.Detail = "there is no replica to compare"
	case left != "":
		r.Detail = left
	default:
		r.Verdict = check.Valid
		r.Detail = fmt.Sprintf("%s exactly %s", check.Counted(compared, "replica holds", "replicas hold"), holds)
	}
	return r, nil
}

// Outcome is what the history has of a transfer; ok is false if it does not
// know it.
func (j *Judge) Outcome(id int64) (outcome history.Outcome, ok bool) {
	client, seq, ok := j.config.Split(id)
	if !ok {
		return 0, false
	}
	b, i := j.ops.find(client, seq)
	if b == nil || !b.states[i].has(recorded) || b.states[i].has(other) {
		return 0, false
	}
	return b.states[i].outcome(), true
}

// item is an account or a row.
type item struct {
	key
	// content is balance and version; or the rest of the row.
	content [5]int64
}

type key struct {
	id  int64
	row bool
}

func accountItem(id, balance, version int64) item {
	return item{key{id, false}, [5]int64{balance, version}}
}

func rowItem(r Row) item {
	return item{key{r.ID, true}, [5]int64{r.Source, r.Destination, r.Amount, r.SourceVersion, r.DestinationVersion}}
}

// groups is how many sums there are of a state.
const groups = 1 << 16

func (k key) hash() uint64 {
	if k.row {
		return fingerprint(k.id, 1)
	}
	return fingerprint(k.id, 0)
}

func (k key) group() int { return int(k.hash() % groups) }

func (x item) fingerprint() uint64 {
	h := x.hash()
	for _, v := range x.content {
		h = fingerprint(int64(h), v)
	}
	return h
}

// sums are the groups of one state.
type sums struct {
	accounts, rows int64
	group          [groups]struct{ count, sum uint64 }
}

func sumUp(s State) (*sums, error) {
	out := new(sums)
	add := func(x item) {
		g := &out.group[x.group()]
		g.count++
		g.sum += x.fingerprint()
	}
	err := s(func(id, balance, version int64) {
		out.accounts++
		add(accountItem(id, balance, version))
	}, func(r Row) {
		out.rows++
		add(rowItem(r))
	})
	return out, err
}
