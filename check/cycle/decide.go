package cycle

import (
	"context"
	"slices"
	"time"

	"assay/check/cycle/acyclic"
)

// decide says whether some order of the versions satisfies a model's rule, after classify found
// nothing that the model forbids. If there is none, it returns the evidence.
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
	case updates:
		if in.keeps(ctx, keys, serial) {
			return acyclic.Possible, nil
		}
	default:
		if in.keeps(ctx, keys, snapshot) {
			return acyclic.Possible, nil
		}
	}
	if j.rule == statements {
		if result, _ := in.newConstraints(keys, judgement{rule: allStatements}).arrange(ctx); result != acyclic.Impossible {
			return result, nil
		}
	}
	c := in.newConstraints(keys, j)
	result, core := c.arrange(ctx)
	if result != acyclic.Impossible {
		in.open = in.open || j.rule == statements && result == acyclic.Possible
		return result, nil
	}
	return result, in.prove(ctx, c, core, nil)
}

const (
	// shortcutFrom is the number of transactions from which a stronger rule is tried first, for
	// shortcutTime.
	shortcutFrom = 1000
	shortcutTime = 10 * time.Second
	belowTime    = 3 * time.Second
)

// keeps reports whether a stronger rule certainly holds. This is searched once, and quick.
func (in *inference) keeps(ctx context.Context, keys []keyOrder, stronger rule) bool {
	if in.h.Len() < shortcutFrom {
		return false
	}
	result, tried := in.stronger[stronger]
	if !tried {
		hurried, cancel := context.WithTimeout(ctx, shortcutTime)
		defer cancel()
		result, _ = in.newConstraints(keys, judgement{rule: stronger}).arrange(hurried)
		in.stronger[stronger] = result
	}
	return result == acyclic.Possible
}

// settled reports whether classify found everything. If all appends to each list but at most one
// are seen, the order of all versions is known. The order of unseen appends matters to no read.
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
	var only []bool
	if !in.registers && in.unseen < 2 {
		// All edges are known, and each violation is a cycle of them.
		only = in.inCycles(ctx, j.extra)
		if !slices.Contains(only, true) && ctx.Err() == nil {
			return acyclic.Possible, nil
		}
	}
	v := in.newVisibility(ctx, keys, j)
	cycle := v.judge(only)
	switch {
	case cycle != nil:
		e := in.prove(ctx, v.c, nil, cycle)
		e.Found = max(1, v.cases)
		return acyclic.Impossible, e
	case ctx.Err() != nil || v.c.full:
		return acyclic.Undecided, nil
	default:
		return acyclic.Possible, nil
	}
}

// inCycles says which transactions are in a cycle of dependencies and, with process, client order.
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

// decideAll decides a model after classify found nothing that it forbids. If the model is broken,
// it looks for the weakest broken models below, and adds the findings to the cases.
func (in *inference) decideAll(ctx context.Context, model Model, components int) acyclic.Result {
	j := judgementOf(model)
	if j.rule == decided {
		return acyclic.Possible
	}
	result, evidence := in.decide(ctx, j, components)
	if result == acyclic.Impossible {
		in.decideBelow(ctx, model, components, evidence)
	}
	return result
}

// decideBelow decides the models below a broken one. It adds the evidence against the model
// itself, which may be nil, if it finds nothing worse.
func (in *inference) decideBelow(ctx context.Context, model Model, components int, evidence *Evidence) {
	ctx, cancel := context.WithTimeout(ctx, belowTime)
	defer cancel()
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
		if m == MonotonicSnapshotRead { // which takes the longest, and has one model above it
			return false
		}
		j := judgementOf(m)
		look(j, j.anomaly)
		return known.implied().has(j.anomaly)
	})
	j := judgementOf(model)
	if j.rule == causal {
		look(judgement{rule: causal}, causalityViolation)
	}
	if model != MonotonicSnapshotRead && model.Includes(MonotonicSnapshotRead) {
		look(judgementOf(MonotonicSnapshotRead), gMSR)
	}
	if evidence != nil && !known.implied().has(j.anomaly) {
		shown[j.anomaly] = evidence
	}
	for a, why := range shown {
		if !implied(a, shown) {
			if a == mavViolation { // the name that Bailis et al., VLDB 2014, and Hermitage have for it
				why.Text += "; what was seen of a transaction, a later read misses (observed transaction vanishes, OTV)"
			}
			in.cases.add(a, func() Evidence { return *why })
			in.cases.count[a] = max(in.cases.count[a], why.Found)
		}
	}
}

func implied(a anomaly, shown map[anomaly]*Evidence) bool {
	for b := range shown {
		if b != a && set(b).implied().has(a) {
			return true
		}
	}
	return false
}

// weakerThan calls broken for each weaker model that a rule decides, from the weakest on. It skips
// the models above one for which broken returned true.
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
		if !out[i] && d.rule != decided {
			out[i] = broken(d.model)
		}
	}
}
