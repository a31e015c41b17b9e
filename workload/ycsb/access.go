package ycsb

import (
	"cmp"
	"slices"

	"assay/history"
)

// access is a decoded operation. Where fields have versions of their own, the fields read and
// written (-1 for all) and a version for each field read follow the record.
type access struct {
	number int64
	// The operation may have written the units from writeFrom to before writeTo.
	writes             bool
	writeFrom, writeTo int64
	found              []found
	// limit is a scan's; answered is true if the scan was answered.
	limit    int64
	answered bool
	// A read-modify-write began to write began nanoseconds after its start, and had read since
	// nanoseconds before its end.
	began, since int64
}

// found has the versions of a record's units from first on.
type found struct {
	number, first int64
	versions      []int64
}

// maxScanned bounds the values of all records of one scan.
const maxScanned = history.MaxValues - 64

// decode is not ok if values do not fit the kind. An unsent attempt has no values. It reuses
// into.
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

// decodeScan sets number to a record's key, where keys are texts.
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

type numbered struct{ key, number int64 }

// numberKeys makes the list that maps hashed keys to numbers.
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

// numberOf is a text key's number; -1 if no record of this run can have the key.
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
