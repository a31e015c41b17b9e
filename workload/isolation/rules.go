package isolation

import (
	"fmt"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
)

// phantoms finds committed transactions that counted a group twice with different results, apart
// from their own inserts, and transactions without an order (cycles).
type phantoms struct {
	repeated int64 // counts of a group that the transaction had counted before
	found    check.Result
	unseen   check.Result // counts that are below the transaction's own rows, which no model allows
	cycles   predicateCycles
}

func (p *phantoms) look(op *history.Op, ops []Op) {
	p.cycles.look(op, ops)
	for i := range ops {
		if ops[i].Kind != Count {
			continue
		}
		p.lookForOwn(op, ops[:i], &ops[i])
		own := int64(0)
		for j := i + 1; j < len(ops); j++ {
			again := &ops[j]
			if again.Key != ops[i].Key {
				continue
			}
			if again.Kind == Insert {
				own++
				continue
			}
			p.repeated++
			if want := ops[i].Value + own; again.Value != want {
				p.add(op, again, want, own)
			}
			break
		}
	}
}

func (p *phantoms) lookForOwn(op *history.Op, before []Op, counted *Op) {
	own := int64(0)
	for i := range before {
		if before[i].Kind == Insert && before[i].Key == counted.Key {
			own++
		}
	}
	if counted.Value < own {
		p.unseen.Add(check.Evidence{
			Kind: ownWriteNotSeen,
			Text: fmt.Sprintf("%s, from %s to %s, inserted %s into group %d, and counted %s there",
				attempt(op), seconds(op.Start), seconds(op.End), check.Counted(own, "row", "rows"), counted.Key, check.Count(counted.Value)),
			Fields: fields(op, map[string]int64{"group": counted.Key, "own": own, "counted": counted.Value}),
		})
	}
}

func (p *phantoms) add(op *history.Op, again *Op, want, own int64) {
	kind := "phantom"
	if again.Value < want {
		kind = "vanished"
	}
	p.found.Add(check.Evidence{
		Kind: kind,
		Text: fmt.Sprintf("%s, from %s to %s, counted %s of group %d, inserted %s, and counted again: %s",
			attempt(op), seconds(op.Start), seconds(op.End), check.Counted(want-own, "row", "rows"), again.Key, check.Count(own), check.Count(again.Value)),
		Fields: fields(op, map[string]int64{"group": again.Key, "first": want - own, "own": own, "second": again.Value}),
	})
}

func (p *phantoms) result(model cycle.Model) check.Result {
	r := ruleResult("predicate", p.found, p.repeated, "repeated count of a group", "repeated counts of a group", forbidsPhantoms(model),
		check.Counted(p.found.Found, "differs", "differ")+" from the first", model)
	kind := kindSerial
	if forbidsForks(model) {
		kind = kindSnapshot
	}
	addAll(&r, p.unseen, check.Counted(p.unseen.Found, "count lacks", "counts lack")+" the transaction's own rows, which every model forbids")
	cycles := p.cycles.result(kind)
	if cycles.Found == 0 && kind == kindSnapshot {
		kind = kindSerial
		cycles = p.cycles.result(kind)
	}
	if cycles.Found == 0 {
		return r
	}
	what := check.Counted(cycles.Found, "set of transactions has", "sets of transactions have") + " no order, by what was counted and inserted (" + kind + ")"
	if kind == kindSerial && !serializable(model) {
		r.Allow(kind, cycles.Found, cycles.Evidence...)
		r.Detail += "; " + what
		return r
	}
	cycles.Findings = []check.Finding{{Kind: kind, Found: cycles.Found}}
	addAll(&r, cycles, fmt.Sprintf("%s, which %s forbids", what, model))
	return r
}

func addAll(r *check.Result, other check.Result, what string) {
	if other.Found == 0 {
		return
	}
	for _, f := range other.Findings {
		r.AddUnlisted(f.Kind, f.Found)
	}
	r.Evidence = append(r.Evidence[:min(len(r.Evidence), check.MaxEvidence/2)], other.Evidence...)
	r.Evidence = r.Evidence[:min(len(r.Evidence), check.MaxEvidence)]
	r.Detail += "; " + what
}

// skews finds pairs with both sides at 0.
type skews struct {
	withdrawals int64
	found       check.Result
}

func (s *skews) look(op *history.Op, ops []Op) {
	for i := range ops {
		if ops[i].Kind != Withdraw {
			continue
		}
		s.withdrawals++
		if ops[i].Result == 0 {
			s.found.Add(check.Evidence{
				Kind: "write-skew",
				Text: fmt.Sprintf("%s, from %s to %s, read both sides of pair %d at 0: two withdrawals each saw the other's side at 1",
					attempt(op), seconds(op.Start), seconds(op.End), ops[i].Key),
				Fields: fields(op, map[string]int64{"pair": ops[i].Key}),
			})
		}
	}
}

func (s *skews) result(model cycle.Model) check.Result {
	return ruleResult("pairs", s.found, s.withdrawals, "withdrawal", "withdrawals", forbidsSkew(model),
		check.Count(s.found.Found)+" read both sides at 0", model)
}

// ruleResult is the result of a rule that only some models forbid to break.
func ruleResult(name string, found check.Result, looked int64, one, many string, forbidden bool, findings string, model cycle.Model) check.Result {
	what := check.Counted(looked, one, many)
	r := check.Result{Name: name, Detail: what}
	switch {
	case looked == 0:
		r.Detail += ": nothing was put to the test"
	case found.Found == 0:
		r.Verdict = check.Valid
		r.Detail += ": none broke the rule"
	case forbidden:
		r = found
		r.Name, r.Detail = name, fmt.Sprintf("%s: %s, which %s forbids", what, findings, model)
	default:
		for _, f := range found.Findings {
			r.Allow(f.Kind, f.Found)
		}
		r.Evidence = found.Evidence
		r.Detail += fmt.Sprintf(": %s, which %s does not rule out", findings, model)
	}
	return r
}
