package recorded

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"assay/check"
	"assay/check/cycle/acyclic"
)

func (d *dependencies) evidence(kind string, cycle []acyclic.Edge) check.Evidence {
	actions := int(d.j.all.len)
	cycle = slices.DeleteFunc(slices.Clone(cycle), func(e acyclic.Edge) bool { return int(e.From) >= actions })
	earliest := slices.MinFunc(cycle, func(a, b acyclic.Edge) int {
		return cmp.Compare(d.j.all.at(a.From).by.Invoke, d.j.all.at(b.From).by.Invoke)
	})
	at := slices.Index(cycle, earliest)
	cycle = slices.Concat(cycle[at:], cycle[:at])
	drawn := &check.Cycle{}
	var names, whys []string
	for i, e := range cycle {
		name, next := fmt.Sprintf("T%d", i+1), fmt.Sprintf("T%d", (i+1)%len(cycle)+1)
		by := &d.j.all.at(e.From).by
		r := d.reasons[e.Tag]
		why := fmt.Sprintf("%s was acknowledged before %s was begun", name, next)
		m := d.j.messages.at(r.message)
		switch r.kind {
		case wr:
			why = fmt.Sprintf("%s polled %s of key %s, which %s sent", next, m.value, m.on.key, name)
		case rw:
			why = fmt.Sprintf("%s polled key %s up to %s, and not %s, which %s sent", name, m.on.key, d.j.messages.at(r.before).value,
				m.value, next)
		case ww:
			why = fmt.Sprintf("%s stands behind %s in key %s; %s sent the first and %s the second", m.value,
				d.j.messages.at(r.before).value, m.on.key, next, name)
		}
		names, whys = append(names, name+" is "+by.String()), append(whys, why)
		drawn.Steps = append(drawn.Steps, check.Step{Name: name, Text: by.String(), Kind: r.kind.String(), Why: why})
	}
	first := &d.j.all.at(cycle[0].From).by
	e := first.evidence(kind, "")
	e.Text = strings.Join(names, ", ") + "; " + strings.Join(whys, "; ") + ": no order of them exists"
	e.Cycle = drawn
	return e
}
