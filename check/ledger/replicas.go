package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"assay/check"
	"assay/history"
)

// State streams the content of one copy of the bank: accounts and journal rows, each in any order.
// It is called at most twice and must give the same both times.
type State func(account func(id, balance, version int64), row func(Row)) error

// Primary is the copy that the others are compared with.
type Primary struct {
	State State
	// Accounts and Rows are its size, if it was read whole before (see Judge.Read).
	Accounts, Rows int64
}

// Replica is a copy to compare with the primary.
type Replica struct {
	// Name is shown in evidence.
	Name string
	// State is its content; nil if it was not read.
	State State
	// Same is true if its content is known to be the primary's, and is not read again.
	Same bool
	// Incomplete, if not empty, says why it is not compared: not read to its end, or not caught up.
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

// Replicas is the check "replicas": each replica has the primary's accounts and journal. outcome,
// which may be nil, gives a transfer's outcome in the history (Judge.Outcome), only to be shown.
// Replicas returns the first error of a State.
//
// A state of any size is read into two megabytes of sums of fingerprints, in groups of ids, unless
// all replicas are known to be the same. If sums differ, both states are read again. The groups
// that fit, some hundred thousand rows, are compared row by row, the others only by counts.
func Replicas(primary Primary, replicas []Replica, outcome func(id int64) (history.Outcome, bool)) (check.Result, error) {
	c := comparison{primary: primary, outcome: outcome, room: compareRoom, found: newFindings(replicaKinds)}
	return c.judge(replicas)
}

func (c *comparison) judge(replicas []Replica) (r check.Result, err error) {
	r.Name = CheckReplicas
	c.sums = &sums{accounts: c.primary.Accounts, rows: c.primary.Rows}
	same := !slices.ContainsFunc(replicas, func(r Replica) bool { return !r.Same && r.Incomplete == "" && r.State != nil })
	if !same || c.sums.accounts == 0 {
		if c.sums, err = sumUp(c.primary.State); err != nil {
			return r, fmt.Errorf("ledger: read the primary: %w", err)
		}
	}
	compared, left := 0, ""
	leave := func(format string, args ...any) { left += "; " + fmt.Sprintf(format, args...) }
	for i := range replicas {
		c.replica = &replicas[i]
		switch {
		case c.replica.Incomplete != "":
			leave("replica %s was not compared: %s", c.replica.Name, c.replica.Incomplete)
		case c.replica.Same:
			compared++
		case c.replica.State == nil:
			leave("replica %s was not read", c.replica.Name)
		default:
			compared++
			if err := c.compare(); err != nil {
				return r, err
			}
		}
	}
	c.found.AddTo(&r)
	c.conclude(&r, compared, len(replicas), left)
	return r, nil
}

// conclude draws the conclusion. left names the replicas that were not compared.
func (c *comparison) conclude(r *check.Result, compared, of int, left string) {
	holds := fmt.Sprintf("the primary's %s and %s", check.Counted(c.sums.accounts, "account", "accounts"), journalRows(c.sums.rows))
	switch {
	case r.Verdict == check.Violated:
		r.Detail = fmt.Sprintf("%s compared with %s: %v", check.Counted(compared, "replica", "replicas"), holds, c.found)
		if c.unnamed {
			r.Detail += ", at least"
		}
		r.Detail += left
	case c.sums.accounts == 0:
		r.Detail = "no account was read from the primary"
	case of == 0:
		r.Detail = "there is no replica to compare"
	case compared == 0:
		r.Detail = strings.TrimPrefix(left, "; ")
	default:
		r.Detail = fmt.Sprintf("%s exactly %s", check.Counted(compared, "replica holds", "replicas hold"), holds) + left
		if left == "" {
			r.Verdict = check.Valid
		}
	}
}

// Read returns the number of accounts and rows given; 0 for a state that is not whole.
func (j *Judge) Read() (accounts, rows int64) {
	if j.incomplete[Accounts] != "" || j.incomplete[Journal] != "" {
		return 0, 0
	}
	return j.accountsRead, j.rowsRead
}

// Outcome returns a transfer's outcome in the history; ok is false if it is not there.
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

type item struct {
	key
	// content is an account's balance and version, or the rest of a row.
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

const groups = 1 << 16

func (k key) hash() uint64 {
	if k.row {
		return fingerprint(k.id, 1)
	}
	return fingerprint(k.id, 0)
}

func (k key) group() int { return int(k.hash() % groups) }

// fingerprint applies a bijection for each value of the content and mixes the results, so that
// sums of fingerprints agree only by chance.
func (x item) fingerprint() uint64 {
	h := x.hash()
	for _, v := range x.content {
		h = (h ^ uint64(v)) * 0xbf58476d1ce4e5b9
		h ^= h >> 32
	}
	return fingerprint(int64(h), 0)
}

// fingerprint hashes with the finalizer of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast
// splittable pseudorandom number generators", 2014).
func fingerprint(sourceVersion, destinationVersion int64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, v := range [2]int64{sourceVersion, destinationVersion} {
		h = (h ^ uint64(v)) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>30) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return h
}

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

// compareRoom bounds the accounts and rows of both states that are compared one by one.
const compareRoom = 1 << 18

type comparison struct {
	primary Primary
	sums    *sums
	outcome func(id int64) (history.Outcome, bool)
	replica *Replica
	room    int64 // accounts and rows of both states that are kept
	found   check.Findings
	// unnamed is true if groups were compared only by counts.
	unnamed bool
}

func (c *comparison) compare() error {
	sums, err := sumUp(c.replica.State)
	if err != nil {
		return fmt.Errorf("ledger: read replica %s: %w", c.replica.Name, err)
	}
	named := map[int]bool{}
	room := c.room
	var less, more, unlike int64 // on the replica, in groups without room
	for i := range sums.group {
		here, there := c.sums.group[i], sums.group[i]
		if here == there {
			continue
		}
		size := int64(here.count + there.count)
		switch off := int64(there.count - here.count); {
		case size <= room:
			room -= size
			named[i] = true
		case off < 0:
			less -= off
		case off > 0:
			more += off
		default:
			unlike++
		}
	}
	if len(named) > 0 {
		if err := c.compareItems(named); err != nil {
			return err
		}
	}
	c.unnamed = c.unnamed || less+more+unlike > 0
	c.count(kindMissingOnReplica, less, "missing on it")
	c.count(kindMissingOnPrimary, more, "missing on the primary")
	c.count(kindDifferentRow, unlike, "different")
	return nil
}

// count adds findings that are not listed one by one.
func (c *comparison) count(kind string, n int64, what string) {
	c.found.AddMany(kind, n, func() check.Evidence {
		return check.Evidence{
			Text:   fmt.Sprintf("of replica %s at least %s more accounts and journal rows are %s", c.replica.Name, check.Count(n), what),
			Fields: map[string]int64{"at_least": n},
		}
	})
}

func (c *comparison) compareItems(groups map[int]bool) error {
	here, there := map[key][]item{}, map[key][]item{}
	err := visit(c.primary.State, groups, func(x item) { here[x.key] = append(here[x.key], x) })
	if err != nil {
		return fmt.Errorf("ledger: read the primary again: %w", err)
	}
	err = visit(c.replica.State, groups, func(x item) {
		if i := slices.Index(here[x.key], x); i >= 0 {
			here[x.key] = slices.Delete(here[x.key], i, i+1)
		} else {
			there[x.key] = append(there[x.key], x)
		}
	})
	if err != nil {
		return fmt.Errorf("ledger: read replica %s again: %w", c.replica.Name, err)
	}
	keys := slices.Collect(maps.Keys(there))
	for k, items := range here {
		if len(items) > 0 && there[k] == nil {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return fmt.Errorf("ledger: replica %s and the primary were not the same when they were read again", c.replica.Name)
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.row == b.row:
			return cmp.Compare(a.id, b.id)
		case a.row:
			return 1
		default:
			return -1
		}
	})
	for _, k := range keys {
		c.addDifference(here[k], there[k])
	}
	return nil
}

func visit(s State, groups map[int]bool, keep func(item)) error {
	visit := func(x item) {
		if groups[x.group()] {
			keep(x)
		}
	}
	return s(func(id, balance, version int64) { visit(accountItem(id, balance, version)) },
		func(r Row) { visit(rowItem(r)) })
}

// addDifference reports the items of one id that only the primary has (here), or only the replica
// (there).
func (c *comparison) addDifference(here, there []item) {
	both := min(len(here), len(there))
	for i := range both {
		c.add(kindOf(here[i], kindDifferentRow, kindDifferentAccount), here[i], fmt.Sprintf("%s on the primary and %s on replica %s",
			c.describe(here[i]), describeContent(there[i]), c.replica.Name))
	}
	for _, x := range here[both:] {
		c.add(kindMissingOnReplica, x, fmt.Sprintf("%s on the primary and missing on replica %s", c.describe(x), c.replica.Name))
	}
	for _, x := range there[both:] {
		c.add(kindMissingOnPrimary, x, fmt.Sprintf("%s on replica %s and missing on the primary", c.describe(x), c.replica.Name))
	}
}

func kindOf(x item, row, account string) string {
	if x.row {
		return row
	}
	return account
}

func (c *comparison) add(kind string, x item, text string) {
	c.found.Add(kind, func() check.Evidence {
		v := x.content
		if !x.row {
			return check.Evidence{Text: text, Fields: map[string]int64{"account": x.id, "balance": v[0], "version": v[1]}}
		}
		return check.Evidence{Text: text, Fields: rowFields(Row{x.id, v[0], v[1], v[2], v[3], v[4]})}
	})
}

func (c *comparison) describe(x item) string {
	name := fmt.Sprintf("account %d is", x.id)
	if x.row {
		name = fmt.Sprintf("transfer %d is", x.id)
		if outcome, ok := c.known(x.id); ok {
			name = fmt.Sprintf("transfer %d, which ended as %v, is", x.id, outcome)
		}
	}
	return name + " " + describeContent(x)
}

func (c *comparison) known(id int64) (history.Outcome, bool) {
	if c.outcome == nil {
		return 0, false
	}
	return c.outcome(id)
}

func describeContent(x item) string {
	v := x.content
	if !x.row {
		return fmt.Sprintf("%d at version %d", v[0], v[1])
	}
	return fmt.Sprintf("%d from account %d (version %d) to %d (version %d)", v[2], v[0], v[3], v[1], v[4])
}
