// Package robustness says whether every run of a set of transactions is serializable at an
// isolation level that does not promise it, from what each transaction reads and writes.
// Such a set is called robust against the level.
//
// The condition is that of B. Vandevoort, B. Ketsman, C. Koch, F. Neven, "Robustness against
// Read Committed for Transaction Templates" (PVLDB 14(11), 2021) and "Detecting Robustness
// against MVRC for Transaction Programs with Predicate Reads" (EDBT 2023): a schedule that
// is not serializable has a cycle of dependencies in which a transaction is left by a
// dependency against the order of commits, and entered either by an antidependency or at
// an operation behind the one that it is left from. For snapshot isolation it is that of
// A. Fekete et al., "Making Snapshot Isolation Serializable" (ACM TODS 30(2), 2005): two
// antidependencies in a row. M. Alomari and A. Fekete, "Serializable use of Read Committed
// isolation level" (AICCSA 2015), call such operations vulnerable.
//
// The answer errs to one side: a set that is called robust is, and one that is not called
// so may be.
//
// It knows no SQL and no database.
package robustness

import "slices"

// Level is what a database does at an isolation level.
type Level uint8

const (
	// Unknown is a level of which nothing is known.
	Unknown Level = iota
	// ReadUncommitted may show what is not committed.
	ReadUncommitted
	// ReadCommitted has each plain read see what was committed when it began. An operation
	// that locks sees what is committed once it has the lock, and keeps the lock.
	ReadCommitted
	// FixedReads has plain reads see what was committed at the first of them, and is
	// otherwise ReadCommitted: repeatable read of InnoDB.
	FixedReads
	// Snapshot has all reads see what was committed when the transaction began, and refuses
	// a write of a row that another has changed since.
	Snapshot
	// Serializable is as if one transaction followed the other.
	Serializable
)

// All stands for all columns of a table, and Row for the row itself: that it is there.
const (
	All = "*"
	Row = "(row)"
)

// Operation is one step of a transaction. It happens at one moment, or locks each row at
// the moment at which it reads it.
type Operation struct {
	// Relation is a table.
	Relation string `json:"table"`
	// Key names the row within the template: operations with the same relation and key
	// are on the same row, and with other keys on others. It is empty for rows that a
	// condition selects.
	Key string `json:"row,omitempty"`
	// Reads and Writes are columns. What makes or removes a row writes All, and a plain
	// read also reads Row.
	Reads  []string `json:"reads,omitempty"`
	Writes []string `json:"writes,omitempty"`
	// Locks is true if each row that is read or written is locked against writers until
	// the end, and was there. It is true of all that writes.
	Locks bool `json:"locks,omitempty"`
	// Adds is true if what is written is made from what is there at that moment, so that
	// no other write is lost by it.
	Adds bool `json:"adds,omitempty"`
	// Statement is the caller's number for where it comes from.
	Statement int `json:"statement"`
}

// Template is a transaction with its rows left open.
type Template struct {
	Name       string
	Operations []Operation
}

// Danger is a cycle that the level permits: transaction Left reads what Over writes before
// Over commits, and Into, which is Over or depends on it, has Left depend on itself.
type Danger struct {
	// Anomaly is its name in the literature.
	Anomaly string
	// Left, Over and Into are numbers of templates, and the others operations of these.
	Left, Over, Into    int
	Read, Written       int // of Left, and of Over
	Returning, Returned int // of Into, and of Left
	same                bool
}

// Two is whether two transactions suffice.
func (d Danger) Two() bool { return d.same }

// Robust says whether the set is robust against the level, and if not, by which dangers,
// those of two transactions first. Of a level of which nothing is known, and of read
// uncommitted with any conflict at all, it is not, without a danger.
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

// rank puts dangers of two transactions first, and among them those that lose something.
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
	// reaches says of two templates whether instances of them are joined by conflicts, at
	// least one.
	reaches [][]bool
	dangers []Danger
}

// mostDangers bounds what is listed.
const mostDangers = 50

func meet(a, b []string) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	return slices.Contains(a, All) || slices.Contains(b, All) || slices.ContainsFunc(a, func(c string) bool { return slices.Contains(b, c) })
}

func (o *Operation) reads() bool { return len(o.Reads) > 0 }

// plain reports whether it reads without a lock.
func (o *Operation) plain() bool { return o.reads() && !o.Locks }

// conflict reports whether two operations of two transactions are on the same row and
// column, and one of them writes.
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

// reach is the transitive closure (S. Warshall, "A Theorem on Boolean Matrices", JACM 9(1),
// 1962).
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

// from looks for dangers in which a transaction of template left is left against the order
// of commits.
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

// vulnerable reports whether a plain read of a template may see a row as it was before a
// write of another transaction that commits first.
func (a *analysis) vulnerable(t *Template, read int, write *Operation) bool {
	r := &t.Operations[read]
	if r.Relation != write.Relation || !meet(r.Reads, write.Writes) {
		return false
	}
	return !a.guarded(t, read)
}

// guarded reports whether no other can write the row between a plain read and the end of
// the transaction: it is locked before the read, or, with a snapshot, written at any time.
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

// position is the moment of an operation among those of its transaction.
func (a *analysis) position(t *Template, i int) int {
	if a.level == FixedReads && t.Operations[i].plain() {
		return firstPlain(t)
	}
	return i
}

// back looks for the ways on which the transaction that was left is entered.
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

// add keeps one danger of each read and what writes over it, the gravest.
func (a *analysis) add(d Danger) {
	i := slices.IndexFunc(a.dangers, func(x Danger) bool { return x.Left == d.Left && x.Read == d.Read && x.Over == d.Over })
	switch {
	case i < 0:
		a.dangers = append(a.dangers, d)
	case rank(d) < rank(a.dangers[i]):
		a.dangers[i] = d
	}
}

// enters reports whether a dependency on operation from of a transaction of template into
// may enter the transaction that was left at operation to so that a cycle can be.
func (a *analysis) enters(d Danger, into, from, to int) bool {
	t, other := &a.set[d.Left], &a.set[into]
	in, out := &other.Operations[from], &t.Operations[to]
	if in.Relation != out.Relation {
		return false
	}
	if anti := meet(in.Reads, out.Writes); a.level == Snapshot {
		// Both must be antidependencies between transactions that overlap.
		return anti && !(len(in.Writes) > 0) && !a.guarded(other, from)
	} else if anti && in.plain() && !a.guarded(other, from) {
		return true
	}
	// The other has committed before this operation: it must come behind the read.
	return conflict(in, out) && a.position(t, d.Read) < a.position(t, to) && !a.heldBefore(t, d.Read, to)
}

// heldBefore reports whether the row of operation to is locked before a read, so that
// whoever wrote it had committed before the read, too.
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
