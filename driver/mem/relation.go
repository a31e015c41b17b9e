package mem

import (
	"hash/maphash"

	"assay/store"
)

// value is what a column holds: a number, or a text. Bytes and lists are texts.
type value struct {
	number int64
	text   string
}

// place is where a version has a column.
type place struct {
	text bool
	at   int
}

// relation is a table: the versions of its rows, the newest of each by its key, and
// orders of the rows that are there now.
type relation struct {
	heap
	d      *database
	table  store.Table
	places []place
	keys   keyTable
	seed   maphash.Seed
	floors []floor
	orders []*ordering
	rows   int64
	// recent are the versions that were committed while somebody could read those before
	// them, in the order of their commits.
	recent []slot
	// bytes are those of the texts of all rows; reserved is for how many rows there was
	// space, and longest the length of the longest row.
	bytes, reserved, longest int64
}

// floor is the least that a column may hold.
type floor struct {
	column int
	least  int64
}

func newRelation(d *database, table store.Table) *relation {
	r := &relation{d: d, table: table, seed: maphash.MakeSeed(), heap: heap{width: firstNumber}}
	for i, c := range table.Columns {
		switch c.Type {
		case store.Integer, store.Boolean:
			r.places = append(r.places, place{at: r.width})
			r.width++
		default:
			r.places = append(r.places, place{text: true, at: r.texts})
			r.texts++
		}
		if least, bounded := table.Floor(c.Name); bounded {
			r.floors = append(r.floors, floor{i, least})
		}
	}
	for _, i := range table.Indexes {
		if i.Unique {
			r.order(r.columns(i.Columns), true)
		}
	}
	d.relations = append(d.relations, r)
	return r
}

// columns are the numbers of columns by their names; -1 of one that is not there.
func (r *relation) columns(names []string) (numbers []int) {
	for _, name := range names {
		numbers = append(numbers, r.column(name))
	}
	return numbers
}

func (r *relation) column(name string) int {
	for i := range r.table.Columns {
		if r.table.Columns[i].Name == name {
			return i
		}
	}
	return -1
}

func (r *relation) clear() {
	r.heap.clear()
	r.keys = keyTable{}
	r.rows, r.recent, r.bytes, r.reserved, r.longest = 0, nil, 0, 0, 0
	for _, o := range r.orders {
		o.tree.Clear()
	}
}

// get is the value of a column.
func (r *relation) get(v version, column int) (of value) {
	if p := r.places[column]; p.text {
		of.text = v.texts[p.at]
	} else {
		of.number = v.numbers[p.at]
	}
	return of
}

func (r *relation) set(v version, column int, to value) {
	if p := r.places[column]; p.text {
		v.texts[p.at] = to.text
	} else {
		v.numbers[p.at] = to.number
	}
}

// hash is that of a version's key.
func (r *relation) hash(v version) (hash uint64) {
	for column := range r.table.Keys() {
		hash = r.mix(hash, column, r.get(v, column))
	}
	return hash
}

// mix adds a column to the hash of a key (the last steps of SplitMix64).
func (r *relation) mix(hash uint64, column int, of value) uint64 {
	if r.places[column].text {
		hash ^= maphash.String(r.seed, of.text)
	} else {
		hash += uint64(of.number) + 0x9e3779b97f4a7c15
	}
	hash = (hash ^ hash>>30) * 0xbf58476d1ce4e5b9
	hash = (hash ^ hash>>27) * 0x94d049bb133111eb
	return hash ^ hash>>31
}

// alike reports whether two versions have the same key.
func (r *relation) alike(a, b version) bool {
	for column := range r.table.Keys() {
		if r.get(a, column) != r.get(b, column) {
			return false
		}
	}
	return true
}

// key appends the key of a version.
func (r *relation) key(v version, into []value) []value {
	for column := range r.table.Keys() {
		into = append(into, r.get(v, column))
	}
	return into
}

// has reports whether a version has a key.
func (r *relation) has(s slot, key []value) bool {
	v := r.at(s)
	for column := range key {
		if r.get(v, column) != key[column] {
			return false
		}
	}
	return true
}

// newest is the last version of the row with a key; 0 if there is none.
func (r *relation) newest(hash uint64, key []value) slot {
	for sh, position := r.keys.shard(hash), 0; ; {
		if s := sh.next(hash, &position); s == 0 || r.has(s, key) {
			return s
		}
	}
}

// newestOf is newest with the key of a version.
func (r *relation) newestOf(hash uint64, of version) slot {
	for sh, position := r.keys.shard(hash), 0; ; {
		if s := sh.next(hash, &position); s == 0 || r.alike(r.at(s), of) {
			return s
		}
	}
}

// install commits a version in place of the newest one of its key, or deletes that. kept
// is whether somebody may still read what was there.
func (r *relation) install(s slot, hash uint64, deleted, kept bool) {
	v := r.at(s)
	last := r.newestOf(hash, v)
	there := last != 0 && r.commit(last) > 0
	if deleted && !there {
		r.give(s)
		return
	}
	r.reorder(last, s, there, !deleted)
	r.account(last, s, there, !deleted)
	if deleted && !kept {
		r.keys.remove(hash, last)
		r.give(last)
		r.give(s)
		return
	}
	v.numbers[atCommit], v.numbers[atOlder] = r.d.clock, int64(last)
	if deleted {
		v.numbers[atCommit] = -r.d.clock
	}
	if last == 0 {
		r.keys.add(hash, s)
	} else {
		r.keys.replace(hash, last, s)
		*r.link(last) |= superseded
	}
	switch {
	case kept:
		r.recent = append(r.recent, s)
	case last != 0:
		r.give(last)
		v.numbers[atOlder] = 0
	}
}

// reorder keeps the orders in step with a row.
func (r *relation) reorder(last, next slot, was, is bool) {
	for _, o := range r.orders {
		if was && (!is || !o.alike(last, next)) {
			o.tree.Delete(last)
		}
		if is {
			o.tree.Set(next)
		}
	}
}

// account keeps what is counted in step with a row.
func (r *relation) account(last, next slot, was, is bool) {
	if was {
		r.rows--
		r.bytes -= r.textBytes(last)
	}
	if is {
		r.rows++
		length := r.textBytes(next)
		r.bytes += length
		r.longest = max(r.longest, length+r.fixedBytes())
		r.reserved = max(r.reserved, r.rows)
	}
}

// fixedBytes are those that each row takes.
func (r *relation) fixedBytes() int64 { return 8 * int64(r.width-firstNumber) }

func (r *relation) textBytes(s slot) (bytes int64) {
	for _, text := range r.at(s).texts {
		bytes += int64(len(text))
	}
	return bytes
}

// forget gives back the versions that nobody can read who reads the state as of a commit
// or a later one.
func (r *relation) forget(oldest int64) {
	forgotten := 0
	for _, s := range r.recent {
		commit := r.commit(s)
		if max(commit, -commit) > oldest {
			break
		}
		forgotten++
		if older := r.older(s); older != 0 {
			r.give(older)
			*r.link(s) &= superseded
		}
		if commit < 0 && *r.link(s)&superseded == 0 {
			r.keys.remove(r.hash(r.at(s)), s)
			r.give(s)
		}
	}
	if r.recent = r.recent[forgotten:]; len(r.recent) == 0 {
		r.recent = nil
	}
}

// changed are the versions that commits after this one have written.
func (r *relation) changed(after int64) []slot {
	i := len(r.recent)
	for ; i > 0; i-- {
		if commit := r.commit(r.recent[i-1]); max(commit, -commit) <= after {
			break
		}
	}
	return r.recent[i:]
}
