package figures

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"assay/history"
	"assay/measure"
	"assay/report"
	"assay/runner/record"
	"assay/workload/definition"
)

type kinds struct {
	names map[uint8]string
	scope measure.Scope
	paces map[uint8]*definition.Pace
	// last caches the pace of kind, the kind of the previous operation.
	last *definition.Pace
	kind uint8
}

func newKinds(names map[uint8]string, scope measure.Scope) *kinds {
	return &kinds{names: names, scope: scope, paces: map[uint8]*definition.Pace{}}
}

func (k *kinds) add(op *history.Op) {
	if k.last == nil || k.kind != op.Kind {
		k.last, k.kind = k.paces[op.Kind], op.Kind
	}
	if k.last == nil {
		k.last = definition.NewPace(k.scope)
		k.paces[op.Kind] = k.last
	}
	k.last.Op(op)
}

// several are the kinds in order; nil for one kind, or in rounds, which have their own figures.
func (k *kinds) several(inRounds bool) (all []report.Kind) {
	if len(k.paces) < 2 || inRounds {
		return nil
	}
	for _, kind := range slices.Sorted(maps.Keys(k.paces)) {
		all = append(all, report.Kind{Name: k.names[kind], Flow: k.paces[kind].Flow()})
	}
	return all
}

func enterRounds(r *report.Result, figures []measure.RoundFigures) {
	r.Rounds = nil
	for _, f := range figures {
		var facts []report.Setting
		if f.ServerSeconds > 0 {
			facts = append(facts, report.Setting{Name: "server CPU", Value: strconv.FormatFloat(f.ServerSeconds, 'f', 2, 64) + " s"})
		}
		r.Rounds = append(r.Rounds, report.Round{
			Facts: facts,
			Name:  f.Name, Clients: f.Clients, Apart: f.Apart, StartSecond: time.Duration(f.Start).Seconds(), Seconds: f.Seconds,
			Outcomes: f.Outcomes, PerSecond: f.PerSecond, Service: f.Service, Tasks: f.Tasks,
		})
	}
}

// mostFelt is the number of backups whose load is measured.
const mostFelt = 16

// felt is the load around all faults, and around each backup and restore by its fault's index.
type felt struct {
	all  *measure.FaultWindows
	each map[int]*measure.FaultWindows
}

func newFelt(scope measure.Scope, faults []record.Fault, acted []measure.FaultPeriod, indexes []int) felt {
	f := felt{all: measure.NewFaultWindows(scope, acted), each: map[int]*measure.FaultWindows{}}
	for i, at := range indexes {
		if faults[at].Backup != nil && len(f.each) < mostFelt {
			f.each[at] = measure.NewFaultWindows(scope, acted[i:i+1])
		}
	}
	return f
}

func (f *felt) add(op *history.Op) {
	f.all.Add(op)
	for _, windows := range f.each {
		windows.Add(op)
	}
}

func (f *felt) enter(faults []report.Fault) {
	for at, windows := range f.each {
		before, during := windows.Around()
		faults[at].Backup.Before, faults[at].Backup.During = feltOf(before), feltOf(during)
	}
}

// feltOf is nil for a part without length.
func feltOf(f measure.Figures) *report.Felt {
	if f.Throughput.Seconds == 0 {
		return nil
	}
	return &report.Felt{Seconds: f.Throughput.Seconds, PerSecond: f.Throughput.PerSecond, P50: f.Latency.P50, P99: f.Latency.P99, Max: f.Latency.Max}
}
