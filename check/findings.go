package check

import (
	"slices"
	"strings"
)

// Findings gathers findings, bounded by kind, so that many of one kind do not hide the others.
type Findings []kindFindings

type kindFindings struct {
	kind   string
	found  int64
	listed []Evidence
}

// NewFindings returns Findings for these kinds, most telling first. Other kinds are ignored.
func NewFindings(kinds ...string) Findings {
	f := make(Findings, len(kinds))
	for i, kind := range kinds {
		f[i].kind = kind
	}
	return f
}

// Add counts one finding. It calls describe only if there is room to list it.
func (f Findings) Add(kind string, describe func() Evidence) { f.AddMany(kind, 1, describe) }

// AddMany counts n findings with one description.
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

// Count returns the number of findings of these kinds, or of all kinds if none is named.
func (f Findings) Count(kinds ...string) (n int64) {
	for _, k := range f {
		if len(kinds) == 0 || slices.Contains(kinds, k.kind) {
			n += k.found
		}
	}
	return n
}

// Clone returns a copy to which evidence can be added.
func (f Findings) Clone() Findings {
	out := slices.Clone(f)
	for i := range out {
		out[i].listed = slices.Clone(out[i].listed)
	}
	return out
}

// AddTo adds all findings to r: one of each kind before a second of any.
func (f Findings) AddTo(r *Result) {
	listed := make([][]Evidence, len(f))
	for i, k := range f {
		listed[i] = k.listed
	}
	r.addInTurn(listed)
	for _, k := range f {
		r.AddUnlisted(k.kind, k.found-int64(len(k.listed)))
	}
}

// AddParts adds the findings of results about parts of what r is about, such as the keys of a
// history: one piece of evidence of each part before a second of any.
func (r *Result) AddParts(parts []Result) {
	listed := make([][]Evidence, len(parts))
	for i := range parts {
		listed[i] = parts[i].Evidence
	}
	r.addInTurn(listed)
	for _, p := range parts {
		for _, f := range p.Findings {
			for _, e := range p.Evidence {
				if e.Kind == f.Kind {
					f.Found--
				}
			}
			r.AddUnlisted(f.Kind, f.Found)
		}
	}
}

// addInTurn adds evidence of several lists: one of each list before a second of any.
func (r *Result) addInTurn(lists [][]Evidence) {
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
