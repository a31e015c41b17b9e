package mem

import (
	"slices"
	"sort"
)

// thing is what a transaction of workload isolation reads and writes: a list,
// a register, a group, or one of the two rows of a pair.
type thing struct {
	space space
	key   int64
}

type space uint8

const (
	spaceList space = iota
	spaceRegister
	spaceGroup
	spaceRow
)

// version is a thing as one commit left it.
type version struct {
	// at is the commit's number; 0 for what was never made.
	at int64
	// lists are the elements, of a list. They are two only after the split
	// that a bug brings about; each session sees one side.
	lists [2][]int64
	// value is the register's value, how many rows the group has, or the row's
	// value.
	value int64
	// grown says that a later version of the list goes on in the memory behind
	// this one.
	grown [2]bool
}

// versions holds what was committed, in enough versions for who is still
// reading. It is not safe for concurrent use.
type versions struct {
	// clock numbers the commits that wrote something.
	clock int64
	// things have their versions in ascending order of at.
	things map[thing][]version
	// log has the last commits, those that only read included, for the bugs
	// that look for an occasion.
	log []commit
	// readers counts the transactions that read the state as of a commit.
	readers map[int64]int
}

// commit is what one transaction read and wrote.
type commit struct {
	// at is the number of the commit, or of the last one before it if it only
	// read.
	at     int64
	wrote  []thing
	read   []reading
	silent bool // it only read
	// answered is the number of the call with which its client came back, and
	// so had its answer; 0 until then.
	answered *uint64
}

// reading is one thing that was read, in the version of a commit.
type reading struct {
	thing
	at int64
}

// maxLog is how many commits are remembered, and so how old a state can be
// that a bug brings back.
const maxLog = 256

func newVersions() versions {
	return versions{things: map[thing][]version{}, readers: map[int64]int{}}
}

// asOf returns the version of a thing that was current after a commit.
func (v *versions) asOf(t thing, at int64) version {
	all := v.things[t]
	i := sort.Search(len(all), func(i int) bool { return all[i].at > at })
	if i == 0 {
		return absent(t)
	}
	return all[i-1]
}

func (v *versions) latest(t thing) version {
	if all := v.things[t]; len(all) > 0 {
		return all[len(all)-1]
	}
	return absent(t)
}

// absent is what a thing is before it is made: a side of a pair is 1.
func absent(t thing) version {
	if t.space == spaceRow {
		return version{value: 1}
	}
	return version{}
}

// put adds a version at the commit that is going on. What was put before in
// the same commit is replaced.
func (v *versions) put(t thing, next version) {
	next.at = v.clock
	all := v.things[t]
	if n := len(all); n > 0 && all[n-1].at == v.clock {
		all[n-1] = next
		return
	}
	v.things[t] = append(v.prune(all), next)
}

// grow appends elements to a side of the latest version, sharing its memory if
// nobody else does yet.
func (v *versions) grow(t thing, side int, elements []int64) []int64 {
	all := v.things[t]
	if len(all) == 0 {
		return slices.Clone(elements)
	}
	last := &all[len(all)-1]
	list := last.lists[side]
	if last.grown[side] {
		list = slices.Clip(list)
	}
	last.grown[side] = true
	return append(list, elements...)
}

// prune leaves out the versions that nobody can ask for any more.
func (v *versions) prune(all []version) []version {
	if len(all) < 8 {
		return all
	}
	horizon := v.clock - maxLog
	for at := range v.readers {
		horizon = min(horizon, at)
	}
	i := sort.Search(len(all), func(i int) bool { return all[i].at > horizon })
	if i < 4 {
		return all
	}
	return slices.Clone(all[i-1:])
}

// remember enters a commit in the log.
func (v *versions) remember(c commit) {
	if len(v.log) >= 2*maxLog {
		v.log = slices.Clone(v.log[maxLog:])
	}
	v.log = append(v.log, c)
}

// recent returns the last n commits of the log, the latest first.
func (v *versions) recent(n int) func(yield func(commit) bool) {
	return func(yield func(commit) bool) {
		for i := len(v.log) - 1; i >= max(0, len(v.log)-n) && v.log[i].at > v.clock-maxLog; i-- {
			if !yield(v.log[i]) {
				return
			}
		}
	}
}

// truncate takes back all commits from one on, as a failover does that loses
// what only the old primary had.
func (v *versions) truncate(from int64) {
	for t, all := range v.things {
		i := sort.Search(len(all), func(i int) bool { return all[i].at >= from })
		switch {
		case i == 0:
			delete(v.things, t)
		case i < len(all):
			v.things[t] = all[:i]
			// What follows is written into memory of its own: readers of what
			// is taken back may still hold the old one.
			all[i-1].grown = [2]bool{true, true}
		}
	}
	v.log = slices.DeleteFunc(v.log, func(c commit) bool { return c.at >= from })
}
