package availability

import (
	"math"

	"assay/check"
	"assay/history"
	"assay/measure"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// Judge is keyvalue.Judge, without CheckReads if there were no readers.
func Judge(config Config, seed uint64, e definition.Evidence) ([]check.Result, Figures, error) {
	var own Figures
	var finder *measure.ImpactFinder
	results, figures, err := keyvalue.Judge(preset(config, seed), e, func(scope measure.Scope) history.Visitor {
		whole := measure.FaultPeriod{Healed: math.MaxInt64} // as of the faults, so that none has more
		finder = measure.NewImpactFinder(scope, []measure.FaultPeriod{whole})
		return history.Visitor{Op: func(op *history.Op) error {
			switch op.Kind {
			case keyvalue.KindInsert:
				own.write(op)
				finder.Write(op)
			case keyvalue.KindGet, keyvalue.KindProbe:
				own.read(op)
				finder.Read(op)
			}
			return nil
		}}
	})
	if err != nil {
		return nil, Figures{}, err
	}
	own.Figures, own.Impact = figures, finder.Impacts()[0]
	return check.Applicable(results, config.NotApplicable()), own, nil
}

// Figures are counts beside the verdicts. Times are in nanoseconds.
type Figures struct {
	keyvalue.Figures
	// Writes are by outcome, without operations that have no record.
	Writes history.Counts
	Reads  history.Counts
	// HungWrites and HungReads count calls without a timeout that the run's end found in flight.
	HungWrites int64
	HungReads  int64
	// Impact has the longest calls and outages.
	Impact measure.Impact
}

func (f *Figures) write(op *history.Op) {
	if op.Error == history.ClassHung {
		f.HungWrites++
	}
	if op.Last {
		f.Writes.Add(op.Final, 1)
	}
}

func (f *Figures) read(op *history.Op) {
	if op.Error == history.ClassHung {
		f.HungReads++
	}
	outcome := op.Outcome
	if outcome != history.Committed {
		outcome = history.Failed // it has no effect
	}
	f.Reads.Add(outcome, 1)
}
