package cycle

import "fmt"

func (p *proof) explain(s step, known []derived) Edge {
	x, y := p.who(s.from), p.who(s.to)
	i, j := p.number[s.from]-1, p.number[s.to]-1
	if s.key < 0 || s.kind == wr || p.placed(s.reason) {
		if edge := p.in.explain(s.kind, s.from, s.to, i, j); edge.Text != "" {
			return edge
		}
	}
	k := &p.c.keys[s.key]
	name := p.in.h.keyName(k.key)
	edge := Edge{From: i, To: j, Kind: s.kind.String(), Key: name}
	first, second := p.in.h.name(k.values[s.a]), p.in.h.name(k.values[s.b])
	list := p.in.h.kinds[k.key] != Write
	switch {
	case s.kind == wr:
		edge.Text = fmt.Sprintf("%s read from key %s what %s had appended", y, name, x)
	case s.kind == ww && list:
		edge.Text = fmt.Sprintf("%s appended %s to key %s, and %s appended %s", x, first, name, y, second)
	case s.kind == ww:
		edge.Text = fmt.Sprintf("%s wrote %s to key %s, and %s wrote %s", x, first, name, y, second)
	case list:
		edge.Text = fmt.Sprintf("%s read key %s without %s, which %s appended", x, name, second, y)
		return edge
	case s.a == 0:
		edge.Text = fmt.Sprintf("%s read nothing from key %s, and %s wrote %s", x, name, y, second)
		return edge
	default:
		edge.Text = fmt.Sprintf("%s read %s from key %s, and %s wrote %s", x, first, name, y, second)
	}
	if s.kind != wr {
		edge.Text += p.later(s.reason, known)
	}
	return edge
}

func (p *proof) placed(r reason) bool {
	k := &p.c.keys[r.key]
	return p.in.h.kinds[k.key] != Write && r.a <= k.chain
}

func (p *proof) later(r reason, known []derived) string {
	k := &p.c.keys[r.key]
	switch {
	case r.known > 0:
		return ", which came later, because " + k.known[r.known-1].edge.reason(p.who)
	case r.via != noTxn:
		return fmt.Sprintf(", which came later, because %s read %s, and it sees what %s wrote",
			p.who(r.via), p.in.h.name(k.values[r.b]), p.who(r.from))
	case r.a <= k.chain:
		return ", which came later"
	}
	pair := versionPair{r.key, r.a, r.b}
	for n, d := range known {
		if d.pair != pair {
			continue
		}
		if d.assumed {
			return ", which came later, as supposed"
		}
		return fmt.Sprintf(", which came later (%d)", p.because(d, known[:n]))
	}
	return ", which came later"
}

// because returns the number of the reason for a derived order.
func (p *proof) because(d derived, known []derived) int {
	if n := p.numbered[d.pair]; n > 0 {
		return n
	}
	n := len(p.reasons) + 1
	p.numbered[d.pair] = n
	p.reasons = append(p.reasons, "")
	order := p.order(d.pair)
	opposite := derived{pair: versionPair{d.pair.key, d.pair.b, d.pair.a}, assumed: true}
	words := p.words(d.cycle, append(known[:len(known):len(known)], opposite))
	p.reasons[n-1] = fmt.Sprintf("(%d) %s, for if it were the other way round: %s", n, order, words)
	return n
}
