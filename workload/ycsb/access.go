package ycsb

import (
	"cmp"
	"slices"

	"assay/history"
)

// access is an operation as its values have it. Where fields have versions of their own, the
// values name, behind the record, the fields that are read and written (-1 for all), and
// there is a version for each field that was read.
type access struct {
	number int64
	// writes is whether it may have written, the units from writeFrom to before writeTo.
	writes             bool
	writeFrom, writeTo int64
	found              []found
	// limit is what a scan asked for; answered is whether a scan was answered.
	limit    int64
	answered bool
	// began and since are how many nanoseconds after its start a read-modify-write had begun
	// to write, and before its end it had read.
	began, since int64
}

// found is what was found of a record: the versions of its units from first on.
type found struct {
	number, first int64
	versions      []int64
}

// maxScanned is how many values the records that a scan returns may have together.
const maxScanned = history.MaxValues - 64

// decode reads an operation's values; ok is false if they are not of its kind. One that was
// not made has none. found is used again.
func (c *core) decode(op *history.Op, into []found) (a access, ok bool) {
	v := op.Values
	a.found = into[:0]
	if len(v) == 0 {
		return a, op.Outcome != history.Committed
	}
	a.number, v = v[0], v[1:]
	if a.number < 0 {
		return a, false
	}
	units := c.units()
	field := func() (from, to int64) {
		switch {
		case units == 1:
			return 0, 1
		case len(v) == 0 || v[0] < everyField || v[0] >= units:
			a.number = -1
			return 0, 0
		}
		from, to = v[0], v[0]+1
		if v[0] == everyField {
			from, to = 0, units
		}
		v = v[1:]
		return from, to
	}
	read := func(from, to int64) bool {
		if len(v) > 1 && int64(len(v)) != to-from {
			return false
		}
		if len(v) > 0 {
			a.found = append(a.found, found{a.number, from, v})
		}
		return true
	}
	switch op.Kind {
	case KindInsert:
		a.writes, a.writeTo = true, units
		ok = len(v) == 0
	case KindRead:
		from, to := field()
		ok = read(from, to)
	case KindUpdate:
		a.writeFrom, a.writeTo = field()
		a.writes = len(v) == 0 && !c.fixed
		ok = len(v) <= 1
		if len(v) == 1 { // there was none
			a.found = append(a.found, found{a.number, a.writeFrom, v})
		}
	case KindReadModifyWrite:
		from, to := field()
		a.writeFrom, a.writeTo = field()
		if n := len(v); n > 2 {
			a.writes, a.began, a.since = !c.fixed, v[n-2], v[n-1]
			v = v[:n-2]
			ok = int64(len(v)) == to-from && a.began >= 0 && a.since >= 0
		} else {
			ok = n <= 1
		}
		ok = read(from, to) && ok
	case KindScan:
		ok = c.decodeScan(op, v, &a)
	}
	return a, ok && a.number >= 0
}

// decodeScan reads what a scan returned. The number of a record is its key, where keys are
// texts.
func (c *core) decodeScan(op *history.Op, v []int64, a *access) bool {
	if len(v) == 0 {
		return true
	}
	a.limit, v = v[0], v[1:]
	first, width := int64(0), 2
	if units := c.units(); units > 1 {
		if len(v) == 0 || v[0] < everyField || v[0] >= units {
			return false
		}
		if width = 2; v[0] == everyField {
			width = 1 + int(units)
		}
		first, v = max(v[0], 0), v[1:]
	}
	if len(v)%width != 0 {
		return false
	}
	a.answered = op.Outcome == history.Committed
	for all := range slices.Chunk(v, width) {
		a.found = append(a.found, found{all[0], first, all[1:]})
	}
	return true
}

// numbered are a record's key and number.
type numbered struct{ key, number int64 }

// numberKeys makes the list by which the judge finds the number of a key that is a hash.
func (j *judge) numberKeys() {
	if !j.keys.texts || !j.keys.hashed {
		return
	}
	j.numbers = make([]numbered, j.limit)
	for i := range j.numbers {
		j.numbers[i] = numbered{j.keys.keyOf(int64(i)), int64(i)}
	}
	slices.SortFunc(j.numbers, func(a, b numbered) int { return cmp.Compare(a.key, b.key) })
}

// numberOf is the number of a key that is a text; -1 if no record of this run can have it.
func (j *judge) numberOf(key int64) int64 {
	if key < 0 || !j.keys.hashed {
		return key
	}
	i, is := slices.BinarySearchFunc(j.numbers, key, func(n numbered, key int64) int { return cmp.Compare(n.key, key) })
	if !is {
		return -1
	}
	return j.numbers[i].number
}
