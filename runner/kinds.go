package runner

import (
	"maps"
	"slices"

	"assay/history"
	"assay/measure"
	"assay/report"
	"assay/workload/definition"
)

// kinds gathers what the operations of each kind came to.
type kinds struct {
	names map[uint8]string
	scope measure.Scope
	paces map[uint8]*definition.Pace
}

func newKinds(names map[uint8]string, scope measure.Scope) *kinds {
	return &kinds{names: names, scope: scope, paces: map[uint8]*definition.Pace{}}
}

func (k *kinds) add(op *history.Op) {
	pace := k.paces[op.Kind]
	if pace == nil {
		pace = definition.NewPace(k.scope.MeasureStart, k.scope.MeasureEnd)
		k.paces[op.Kind] = pace
	}
	pace.Op(op)
}

// several are the kinds in their order, where there are more than one. A run in rounds
// has its figures by round.
func (k *kinds) several(inRounds bool) (all []report.Kind) {
	if len(k.paces) < 2 || inRounds {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(k.paces)) {
		all = append(all, report.Kind{Name: k.names[kind], Flow: k.paces[kind].Flow()})
	}
	return all
}
