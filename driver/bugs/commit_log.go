package bugs

import (
	"iter"
	"slices"

	"assay/workload/isolation"
)

// object is what a transaction reads and writes: a list, a register, a group, or one
// of the two sides of a pair.
type object struct {
	space space
	key   int64
}

type space uint8

const (
	spaceList space = iota
	spaceRegister
	spaceGroup
	spaceSide // the key is 2*pair+side
)

// value is what a register holds, or a side.
type value struct {
	number int64
	found  bool
}

// write is what one transaction has done to one object, and enough of what was
// there before to show it as it was.
type write struct {
	object
	// elements are those that were appended, of a list.
	elements []int64
	// before and after are the values of what has one, and first is the
	// first one that was written.
	before, after, first value
	// rows is how many a group has got.
	rows int64
	// times counts the operations.
	times int
}

// commit is what one transaction read and wrote.
type commit struct {
	// at is the number of the commit, or of the last one before it if it only
	// read.
	at     int64
	writes []write
	reads  []reading
	// answered is the event with which its client came back, and so had its
	// answer; 0 until then.
	answered *uint64
}

// reading is one object that was read, as the commit of this number left it.
// Commits that are remembered no more are all 0.
type reading struct {
	object
	at int64
}

// silent says that it only read.
func (c *commit) silent() bool { return len(c.writes) == 0 }

// wrote is what the commit did to an object, nil if nothing.
func (c *commit) wrote(o object) *write {
	for i := range c.writes {
		if c.writes[i].object == o {
			return &c.writes[i]
		}
	}
	return nil
}

func (c *commit) read(o object) bool {
	return slices.ContainsFunc(c.reads, func(r reading) bool { return r.object == o })
}

// shows says that what a commit wrote is known to come after what was there
// before: a list shows its order, a register only if the commit read it first.
func (c *commit) shows(o object) bool {
	return c.wrote(o) != nil && (o.space != spaceRegister || c.read(o))
}

// touches says that a commit read or wrote one of what another one wrote.
func (c *commit) touches(other *commit) bool {
	return slices.ContainsFunc(other.writes, func(w write) bool { return c.wrote(w.object) != nil || c.read(w.object) })
}

// commits are the last ones, at least maxLog of them if there were as many.
type commits struct {
	// clock numbers those that wrote something.
	clock   int64
	entries []commit
	// forgotten is the last one that is remembered no more.
	forgotten int64
}

func (l *commits) add(c commit) {
	if len(l.entries) >= 2*maxLog {
		l.forgotten = l.entries[maxLog-1].at
		l.entries = slices.Clone(l.entries[maxLog:])
	}
	l.entries = append(l.entries, c)
}

// back gives the commits, the latest first.
func (l *commits) back() iter.Seq[*commit] { return l.recent(2 * maxLog) }

// recent gives the last n commits, the latest first.
func (l *commits) recent(n int) iter.Seq[*commit] {
	return func(yield func(*commit) bool) {
		for i := len(l.entries) - 1; i >= max(0, len(l.entries)-n); i-- {
			if !yield(&l.entries[i]) {
				return
			}
		}
	}
}

// truncate forgets all commits from one on.
func (l *commits) truncate(from int64) {
	l.entries = slices.DeleteFunc(l.entries, func(c commit) bool { return c.at >= from })
}

// asOf is the number of the last commit, of those up to one, that wrote an object;
// 0 if there is none that is remembered.
func (l *commits) asOf(o object, at int64) int64 {
	for c := range l.back() {
		if c.at <= at && c.wrote(o) != nil {
			return c.at
		}
	}
	return 0
}

// since gives what the commits after one did to an object, the latest first.
func (l *commits) since(at int64, o object) iter.Seq[*write] {
	return func(yield func(*write) bool) {
		for c := range l.back() {
			if c.at <= at {
				return
			}
			if w := c.wrote(o); w != nil && !yield(w) {
				return
			}
		}
	}
}

// last is the last commit that wrote an object, and what it did to it; nil if there
// is none that is remembered.
func (l *commits) last(o object) (*commit, *write) {
	for c := range l.back() {
		if w := c.wrote(o); w != nil {
			return c, w
		}
	}
	return nil, nil
}

func (l *commits) latest(o object) int64 { return l.asOf(o, l.clock) }

// sawOnly says that somebody read the first object as it is now and the second
// as it was right before a commit.
func (l *commits) sawOnly(first, second object, before int64) bool {
	now, then := l.latest(first), l.asOf(second, before-1)
	for c := range l.recent(2 * occasions) {
		if c.at < before && slices.Contains(c.reads, reading{first, now}) && slices.Contains(c.reads, reading{second, then}) {
			return true
		}
	}
	return false
}

// differences is how what is shown differs from what the database holds.
type differences struct {
	// hidden has the elements that are not shown, by the sides that they are not
	// shown to.
	hidden map[int64]sides
	// registers and sides are shown until the next write, groups are added.
	registers     map[copyOf]value
	groups, sides map[int64]int64
}

// copyOf is a register as one side is shown it.
type copyOf struct {
	key  int64
	side int
}

// sides is a set of the two copies, and everybody is both.
type sides uint8

const everybody sides = 3

func newDifferences() differences {
	return differences{hidden: map[int64]sides{}, registers: map[copyOf]value{}, groups: map[int64]int64{}, sides: map[int64]int64{}}
}

func (d *differences) hide(elements []int64, from sides) {
	for _, e := range elements {
		d.hidden[e] |= from
	}
}

// list is a list as a side is shown it, in the same memory.
func (d *differences) list(elements []int64, side int) []int64 {
	if len(d.hidden) == 0 {
		return elements
	}
	return slices.DeleteFunc(elements, func(e int64) bool { return d.hidden[e]&(1<<side) != 0 })
}

// register is a register as a side is shown it, if the database says v.
func (d *differences) register(key int64, side int, v value) value {
	if shown, differs := d.registers[copyOf{key, side}]; differs {
		return shown
	}
	return v
}

// put shows everybody a register so.
func (d *differences) put(key int64, v value) {
	d.registers[copyOf{key, 0}], d.registers[copyOf{key, 1}] = v, v
}

// follow shows everybody a register as the database has it.
func (d *differences) follow(key int64) {
	delete(d.registers, copyOf{key, 0})
	delete(d.registers, copyOf{key, 1})
}

// allWritten returns what operations write.
func allWritten(ops []isolation.Op) (objects []object) {
	for i := range ops {
		if o, writes := written(&ops[i]); writes {
			objects = append(objects, o)
		}
	}
	return objects
}

// written returns what an operation writes; false if it only reads.
func written(o *isolation.Op) (object, bool) {
	switch o.Kind {
	case isolation.Append, isolation.AppendByRewrite:
		return object{spaceList, o.Key}, true
	case isolation.Write:
		return object{spaceRegister, o.Key}, true
	case isolation.Insert:
		return object{spaceGroup, o.Key}, true
	case isolation.Withdraw:
		return object{spaceSide, 2*o.Key + o.Value&1}, true
	default:
		return object{}, false
	}
}

// read returns what an operation reads, at most two objects.
func read(o *isolation.Op) []object {
	switch o.Kind {
	case isolation.ReadList:
		return []object{{spaceList, o.Key}}
	case isolation.ReadValue:
		return []object{{spaceRegister, o.Key}}
	case isolation.Count:
		return []object{{spaceGroup, o.Key}}
	case isolation.Withdraw:
		return []object{{spaceSide, 2 * o.Key}, {spaceSide, 2*o.Key + 1}}
	default:
		return nil
	}
}
