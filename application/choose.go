package application

import (
	"math/rand/v2"
	"slices"
	"time"

	"assay/application/wire"
	"assay/internal/quantity"
)

// choose makes the possible events of places: each place is met once before any is met twice, first
// where something is committed, and first by what tells most. Order and times follow from the seed.
func choose(places []*wire.Place, seed uint64, late []time.Duration, possible func(wire.Action, *wire.Place) bool) (all []*wire.Fault) {
	random := rand.New(rand.NewPCG(seed, 1))
	order := slices.Clone(places)
	random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	slices.SortStableFunc(order, func(a, b *wire.Place) int { return rank(a) - rank(b) })
	for round, more := 0, true; more; round++ {
		more = false
		for _, p := range order {
			if actions := actionsAt(p, late); round < len(actions) {
				more = true
				if f := (&wire.Fault{Action: actions[round], Place: p.Name, Time: 1 + random.IntN(p.Times)}); possible(f.Action, p) && !(p.Parted && f.Action.Replaces()) {
					all = append(all, f)
				}
			}
		}
	}
	return all
}

func rank(p *wire.Place) int {
	switch {
	case p.Commits:
		return 0
	case p.Within, p.Name == wire.PlaceConnect:
		return 1
	}
	return 2
}

// actionsAt are what can be done at a place, the most telling first.
func actionsAt(p *wire.Place, late []time.Duration) (all []wire.Action) {
	switch {
	case p.Name == wire.PlaceConnect:
		return wire.ActionsAt(p.Name)
	case p.Kind == wire.Rollback:
		return nil
	case p.Commits:
		all = []wire.Action{wire.AnswerLost, wire.Reset, wire.GiveSerialization, wire.AnswerSilent, wire.Shutdown, wire.Cut, wire.Standby}
		if p.Decides() { // what was prepared fails by no conflict any more
			all = slices.DeleteFunc(all, func(a wire.Action) bool { return a == wire.GiveSerialization })
		}
		for _, d := range late {
			all = append(all, lateBy(d))
		}
	case p.Kind == wire.Prepare:
		return []wire.Action{wire.Shutdown, wire.AnswerSilent}
	case p.Kind == wire.Begin && len(p.Shapes) == 1:
		return []wire.Action{wire.Reset, wire.Standby, wire.Shutdown}
	case p.Kind == wire.Begin: // pgjdbc sends it and a statement as one
		all = []wire.Action{wire.AnswerLost, wire.GiveDeadlock, wire.Shutdown, wire.Silent, wire.Cut, wire.Reset, wire.Standby}
	case p.Within && p.Kind == wire.Other:
		all = []wire.Action{wire.AnswerLost, wire.GiveDeadlock, wire.Shutdown, wire.Silent, wire.Cut}
	default:
		all = []wire.Action{wire.Shutdown, wire.Reset, wire.AnswerSilent}
	}
	if !p.Commits && len(late) > 0 {
		all = append(all, lateBy(late[len(late)-1]))
	}
	return all
}

func lateBy(d time.Duration) wire.Action { return wire.Action(wire.Late + quantity.Duration(d)) }
