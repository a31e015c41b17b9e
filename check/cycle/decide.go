package cycle

import (
	"context"

	"assay/check/cycle/acyclic"
)

// decide says whether some order of the versions satisfies the rule of a
// model, where classify found nothing that the model forbids. If there is none,
// it returns the evidence.
func (in *inference) decide(ctx context.Context, j judgement, components int) (acyclic.Result, *Evidence) {
	if in.settled(j, components) {
		return acyclic.Possible, nil
	}
	given := in.o
	defer func() { in.o = given }()
	promised := j.options()
	in.o.SequentialKeys = in.o.SequentialKeys || promised.SequentialKeys
	in.o.LinearizableKeys = in.o.LinearizableKeys || promised.LinearizableKeys
	keys, whole := in.accesses(ctx)
	if !whole {
		return acyclic.Undecided, nil
	}
	switch j.rule {
	case atomic, monotonicAtomic, causal:
		return in.decideVisibility(ctx, keys, j)
	case serial, snapshot, prefix:
	default:
		if in.h.Len() > shortcutFrom {
			hurried, cancel := context.WithTimeout(ctx, shortcut)
			result, _ := in.newConstraints(keys, judgement{rule: serial}).arrange(hurried)
			cancel()
			if result == acyclic.Possible {
				return result, nil // and whatever is serializable keeps the rule
			}
		}
	}
	c := in.newConstraints(keys, j)
	result, core := c.arrange(ctx)
	if result != acyclic.Impossible {
		return result, nil
	}
	return result, in.prove(ctx, c, core, nil)
}

// shortcutFrom is how many transactions make it worth looking for a serial
// order first.
const shortcutFrom = 1000

// settled says that what classify has not found is not there: of lists, of
// which all but one append each are seen, the order of all versions is known.
// The order of appends that nobody saw matters to nothing that reads.
func (in *inference) settled(j judgement, components int) bool {
	if in.registers {
		return false
	}
	switch {
	case j.rule == serial:
		return true
	case in.unseen > 1:
		return false
	case components == 0 && j.extra == 0:
		return true
	default:
		return j.rule == snapshot || j.rule == singleItem
	}
}

func (in *inference) decideVisibility(ctx context.Context, keys []keyOrder, j judgement) (acyclic.Result, *Evidence) {
	v := in.newVisibility(ctx, keys, j)
	var only []bool
	if !in.registers && in.unseen < 2 {
		// All edges are known, and each violation is a cycle of them.
		only = in.inCycles(ctx, j.extra)
	}
	cycle := v.judge(only)
	switch {
	case cycle != nil:
		return acyclic.Impossible, in.prove(ctx, v.c, nil, cycle)
	case ctx.Err() != nil:
		return acyclic.Undecided, nil
	default:
		return acyclic.Possible, nil
	}
}

// inCycles says by transaction that it is in a cycle of dependencies and, if
// extra is process, the order of each client.
func (in *inference) inCycles(ctx context.Context, extra edgeKind) []bool {
	if extra == process {
		in.edges.addProcess(in.h)
	}
	cyclic := make([]bool, in.h.Len())
	in.edges.build().components(ctx, ww|wr|rw|extra, func(members []int32) {
		for _, v := range members {
			if len(members) > 1 && v < in.edges.txns {
				cyclic[v] = true
			}
		}
	})
	return cyclic
}

// decideAll decides a model. If it is broken, it looks for the weakest models
// below it that are broken too, and enters what it found into the cases.
func (in *inference) decideAll(ctx context.Context, model Model, components int) acyclic.Result {
	j := judgementOf(model)
	if j.rule == decided || j.rule == open {
		return acyclic.Possible
	}
	result, evidence := in.decide(ctx, j, components)
	if result != acyclic.Impossible {
		return result
	}
	shown := map[anomaly]*Evidence{}
	known := in.cases.found()
	look := func(j judgement, a anomaly) {
		if known.implied().has(a) {
			return
		}
		if found, why := in.decide(ctx, j, components); found == acyclic.Impossible {
			shown[a], known = why, known|set(a)
		}
	}
	weakerThan(model, func(m Model) bool {
		j := judgementOf(m)
		look(j, j.anomaly)
		return known.implied().has(j.anomaly)
	})
	if j.rule == causal {
		look(judgement{rule: causal}, causalityViolation)
	}
	if !known.implied().has(j.anomaly) {
		shown[j.anomaly] = evidence
	}
	for a, why := range shown {
		if !implied(a, shown) {
			in.cases.add(a, func() Evidence { return *why })
		}
	}
	return result
}

// implied says that a follows from another of those that are shown.
func implied(a anomaly, shown map[anomaly]*Evidence) bool {
	for b := range shown {
		if b != a && set(b).implied().has(a) {
			return true
		}
	}
	return false
}

// weakerThan calls broken for each model below another that is decided by a rule,
// from the weakest on, but for those above one for which it returned true.
func weakerThan(model Model, broken func(Model) bool) {
	defs := definitions()
	below := includes(defs, model)
	out := make([]bool, len(defs))
	for i, d := range defs {
		if !below[i] || d.model == model {
			continue
		}
		weaker := includes(defs, d.model)
		for k := range i {
			out[i] = out[i] || weaker[k] && out[k]
		}
		if rule := judgementOf(d.model).rule; !out[i] && rule != decided && rule != open {
			out[i] = broken(d.model)
		}
	}
}
