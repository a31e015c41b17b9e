package check

import (
	"slices"
	"strings"
)

// Findings gathers what is wrong, bounded by kind, so that a flood of one kind does not hide
// the others.
type Findings []kindFindings

type kindFindings struct {
	kind   string
	found  int64
	listed []Evidence
}

// NewFindings has no findings of these kinds, which are most telling first. Those of any
// other kind are left out.
func NewFindings(kinds ...string) Findings {
	f := make(Findings, len(kinds))
	for i, kind := range kinds {
		f[i].kind = kind
	}
	return f
}

// Add counts one finding; describe is called only while there is room for it.
func (f Findings) Add(kind string, describe func() Evidence) { f.AddMany(kind, 1, describe) }

// AddMany counts n findings that are described as one.
func (f Findings) AddMany(kind string, n int64, describe func() Evidence) {
	for i := range f {
		if f[i].kind != kind || n == 0 {
			continue
		}
		f[i].found += n
		if len(f[i].listed) < MaxEvidence {
			e := describe()
			e.Kind = kind
			f[i].listed = append(f[i].listed, e)
		}
	}
}

// Count is how many findings there are of these kinds, or of all if none is named.
func (f Findings) Count(kinds ...string) (n int64) {
	for _, k := range f {
		if len(kinds) == 0 || slices.Contains(kinds, k.kind) {
			n += k.found
		}
	}
	return n
}

// Clone lets evidence be added to a copy.
func (f Findings) Clone() Findings {
	out := slices.Clone(f)
	for i := range out {
		out[i].listed = slices.Clone(out[i].listed)
	}
	return out
}

// AddTo puts all findings into r, of each kind one before any has its second.
func (f Findings) AddTo(r *Result) {
	listed := make([][]Evidence, len(f))
	for i, k := range f {
		listed[i] = k.listed
	}
	r.AddInTurn(listed)
	for _, k := range f {
		r.AddUnlisted(k.kind, k.found-int64(len(k.listed)))
	}
}

// AddInTurn adds the evidence of several lists, of each one before any has its second.
func (r *Result) AddInTurn(lists [][]Evidence) {
	for depth, more := 0, true; more; depth++ {
		more = false
		for _, list := range lists {
			if depth < len(list) {
				r.Add(list[depth])
				more = true
			}
		}
	}
}

// String counts the kinds: "2 lost, 1 altered".
func (f Findings) String() string {
	var parts []string
	for _, k := range f {
		if k.found > 0 {
			parts = append(parts, Count(k.found)+" "+k.kind)
		}
	}
	return strings.Join(parts, ", ")
}
