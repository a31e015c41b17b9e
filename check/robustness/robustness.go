// Package robustness says whether every run of a set of transactions is serializable at an
// isolation level that does not promise it. It judges by what each transaction reads and
// writes. Such a set is called robust against the level.
//
// For read committed the condition is by B. Vandevoort, B. Ketsman, C. Koch, F. Neven,
// "Robustness against Read Committed for Transaction Templates" (PVLDB 14(11), 2021) and
// "Detecting Robustness against MVRC for Transaction Programs with Predicate Reads" (EDBT 2023).
// A schedule that is not serializable has a cycle of dependencies. The cycle leaves one of its
// transactions by a dependency against the order of commits. It enters this transaction either
// by an antidependency or at a later operation than it left. For snapshot isolation the
// condition is two antidependencies in a row: A. Fekete et al., "Making Snapshot Isolation
// Serializable" (ACM TODS 30(2), 2005). M. Alomari and A. Fekete, "Serializable use of Read
// Committed isolation level" (AICCSA 2015), call such operations vulnerable.
//
// The answer errs on one side: a set called robust is robust; a set not called robust may be.
//
// It knows no SQL and no database.
package robustness

import "slices"

// Level is an isolation level by what a database does at it.
type Level uint8

const (
	Unknown Level = iota
	// ReadUncommitted may show uncommitted data.
	ReadUncommitted
	// ReadCommitted shows a plain read the data committed when the read began. An operation that
	// locks sees the data committed when it gets the lock, and keeps the lock.
	ReadCommitted
	// FixedReads shows plain reads the data committed at the first of them. Otherwise it is
	// ReadCommitted. It is InnoDB's repeatable read.
	FixedReads
	// Snapshot shows all reads the data committed when the transaction began. It refuses to write
	// a row that another transaction has changed since.
	Snapshot
	// Serializable behaves as if one transaction followed the other.
	Serializable
)

// All stands for all columns of a table, and Row for the existence of the row.
const (
	All = "*"
	Row = "(row)"
)

// Operation is one step of a transaction. It happens at one moment, or locks each row when it
// reads the row.
type Operation struct {
	// Relation is a table.
	Relation string `json:"table"`
	// Key names the row within the template. Operations with the same relation and key are on
	// the same row, with another key on another row. It is empty if a condition selects the rows.
	Key string `json:"row,omitempty"`
	// Reads and Writes are columns. An insert or delete writes All. A plain read also reads Row.
	Reads  []string `json:"reads,omitempty"`
	Writes []string `json:"writes,omitempty"`
	// Locks is true if each row existed and stays locked against writers until the end of the
	// transaction. It is true for every write.
	Locks bool `json:"locks,omitempty"`
	// Adds is true if the write is computed from the row's current value, so that no write is lost.
	Adds bool `json:"adds,omitempty"`
	// Statement is the caller's number for the operation's origin.
	Statement int `json:"statement"`
}

// Template is a transaction without particular rows.
type Template struct {
	Name       string
	Operations []Operation
}

// Danger is a cycle that the level permits. Left reads what Over writes before Over commits. Into
// is Over or depends on it, and Left depends on Into.
type Danger struct {
	Anomaly string
	// Left, Over and Into number templates. The other fields number their operations.
	Left, Over, Into    int
	Read, Written       int // of Left, and of Over
	Returning, Returned int // of Into, and of Left
	same                bool
}

// Two reports whether two transactions suffice.
func (d Danger) Two() bool { return d.same }

// Robust says whether the set is robust against the level, and returns the dangers if not, those
// of two transactions first. At an unknown level, and at read uncommitted with any conflict, the
// set is not robust, and no danger is returned.
func Robust(set []Template, level Level) (robust bool, dangers []Danger) {
	a := &analysis{set: set, level: level}
	switch level {
	case Serializable:
		return true, nil
	case ReadUncommitted:
		return !a.conflicts(), nil
	case ReadCommitted, FixedReads, Snapshot:
		a.reach()
		for left := range set {
			a.from(left)
		}
		slices.SortStableFunc(a.dangers, func(x, y Danger) int { return rank(x) - rank(y) })
		return len(a.dangers) == 0, a.dangers
	}
	return false, nil
}

// rank orders dangers: two transactions first, and lost updates and write skews first among them.
func rank(d Danger) int {
	at := slices.Index([]string{LostUpdate, WriteSkew}, d.Anomaly)
	if at < 0 {
		at = 2
	}
	if !d.same {
		at += 3
	}
	return at
}

type analysis struct {
	set   []Template
	level Level
	// reaches says whether a chain of at least one conflict joins instances of two templates.
	reaches [][]bool
	dangers []Danger
}

const mostDangers = 50

func meet(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	return slices.Contains(a, All) || slices.Contains(b, All) || slices.ContainsFunc(a, func(c string) bool { return slices.Contains(b, c) })
}

func (o *Operation) reads() bool { return len(o.Reads) > 0 }

// plain reports whether the operation reads without a lock.
func (o *Operation) plain() bool { return o.reads() && !o.Locks }

// conflict reports whether both may touch the same row and column, and one writes it.
func conflict(a, b *Operation) bool {
	return a.Relation == b.Relation && (meet(a.Reads, b.Writes) || meet(a.Writes, b.Reads) || meet(a.Writes, b.Writes))
}

func (a *analysis) conflicts() bool {
	for i := range a.set {
		for k := range a.set {
			if a.joined(i, k) {
				return true
			}
		}
	}
	return false
}

func (a *analysis) joined(i, k int) bool {
	for x := range a.set[i].Operations {
		for y := range a.set[k].Operations {
			if conflict(&a.set[i].Operations[x], &a.set[k].Operations[y]) {
				return true
			}
		}
	}
	return false
}

// reach is the transitive closure (S. Warshall, "A Theorem on Boolean Matrices", JACM 9(1), 1962).
func (a *analysis) reach() {
	a.reaches = make([][]bool, len(a.set))
	for i := range a.set {
		a.reaches[i] = make([]bool, len(a.set))
		for k := range a.set {
			a.reaches[i][k] = a.joined(i, k)
		}
	}
	for via := range a.set {
		for i := range a.set {
			for k := range a.set {
				a.reaches[i][k] = a.reaches[i][k] || a.reaches[i][via] && a.reaches[via][k]
			}
		}
	}
}

// from looks for dangers that leave a transaction of template left against the order of commits.
func (a *analysis) from(left int) {
	t := &a.set[left]
	for r := range t.Operations {
		if !t.Operations[r].plain() {
			continue
		}
		for over := range a.set {
			for w := range a.set[over].Operations {
				if a.vulnerable(t, r, &a.set[over].Operations[w]) {
					a.back(Danger{Left: left, Read: r, Over: over, Written: w})
				}
			}
		}
	}
}

// vulnerable reports whether a plain read may miss a write of a transaction that commits first.
func (a *analysis) vulnerable(t *Template, read int, write *Operation) bool {
	r := &t.Operations[read]
	if r.Relation != write.Relation || !meet(r.Reads, write.Writes) {
		return false
	}
	return !a.guarded(t, read)
}

// guarded reports whether no other transaction can write the row between a plain read and the
// end of the transaction: the row is locked before the read or, with a snapshot, ever written.
func (a *analysis) guarded(t *Template, read int) bool {
	r := &t.Operations[read]
	if r.Key == "" {
		return false
	}
	for i := range t.Operations {
		o := &t.Operations[i]
		if o.Relation != r.Relation || o.Key != r.Key || !o.Locks {
			continue
		}
		writes := len(o.Writes) > 0
		switch a.level {
		case Snapshot:
			if writes {
				return true
			}
		case FixedReads:
			if i < read && writes || i < firstPlain(t) {
				return true
			}
		default:
			if i < read {
				return true
			}
		}
	}
	return false
}

func firstPlain(t *Template) int {
	return slices.IndexFunc(t.Operations, func(o Operation) bool { return o.plain() })
}

// position is the moment of an operation within its transaction.
func (a *analysis) position(t *Template, i int) int {
	if a.level == FixedReads && t.Operations[i].plain() {
		return firstPlain(t)
	}
	return i
}

func (a *analysis) back(d Danger) {
	t := &a.set[d.Left]
	for into := range a.set {
		same := into == d.Over
		if !same && !a.reaches[d.Over][into] {
			continue
		}
		for from := range a.set[into].Operations {
			for to := range t.Operations {
				if len(a.dangers) < mostDangers && a.enters(d, into, from, to) {
					d.Into, d.Returning, d.Returned, d.same = into, from, to, same
					d.Anomaly = a.name(d)
					a.add(d)
				}
			}
		}
	}
}

// add keeps the gravest danger for each read and write over it.
func (a *analysis) add(d Danger) {
	i := slices.IndexFunc(a.dangers, func(x Danger) bool { return x.Left == d.Left && x.Read == d.Read && x.Over == d.Over })
	switch {
	case i < 0:
		a.dangers = append(a.dangers, d)
	case rank(d) < rank(a.dangers[i]):
		a.dangers[i] = d
	}
}

// enters reports whether a dependency on operation from of template into may lead back to
// operation to of the transaction that was left, so that a cycle is possible.
func (a *analysis) enters(d Danger, into, from, to int) bool {
	t, other := &a.set[d.Left], &a.set[into]
	in, out := &other.Operations[from], &t.Operations[to]
	if in.Relation != out.Relation {
		return false
	}
	if anti := meet(in.Reads, out.Writes); a.level == Snapshot {
		// Both must be antidependencies between concurrent transactions.
		return anti && len(in.Writes) == 0 && !a.guarded(other, from)
	} else if anti && in.plain() && !a.guarded(other, from) {
		return true
	}
	// The other transaction has committed before this operation, which must follow the read.
	return conflict(in, out) && a.position(t, d.Read) < a.position(t, to) && !a.heldBefore(t, d.Read, to)
}

// heldBefore reports whether the row of operation to is locked before a read, so that its last
// writer had also committed before the read.
func (a *analysis) heldBefore(t *Template, read, to int) bool {
	o := &t.Operations[to]
	if o.Key == "" {
		return false
	}
	for i := 0; i < a.position(t, read); i++ {
		p := &t.Operations[i]
		if p.Locks && p.Relation == o.Relation && p.Key == o.Key {
			return true
		}
	}
	return false
}
