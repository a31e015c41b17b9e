package availability

import (
	"assay/check"
	"assay/history"
	"assay/load"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// Judge judges a run by its files alone; see keyvalue.Judge. CheckReads is left out if there
// were no readers.
func Judge(config Config, seed uint64, e definition.Evidence) ([]check.Result, Figures, error) {
	if err := config.Validate(); err != nil {
		return nil, Figures{}, err
	}
	var own Figures
	var writes, reads outage
	results, figures, err := keyvalue.Judge(preset(config, seed), e, func(int64, int64) history.Visitor {
		return history.Visitor{
			Op: func(op *history.Op) error {
				switch op.Kind {
				case keyvalue.KindInsert:
					own.write(op)
					writes.op(op)
				case keyvalue.KindGet, keyvalue.KindProbe:
					own.read(op)
					reads.op(op)
				}
				return nil
			},
			Event: func(e history.Event) error {
				if e.Name == history.EventMeasureEnd {
					writes.end(e.At)
					reads.end(e.At)
				}
				return nil
			},
		}
	})
	if err != nil {
		return nil, Figures{}, err
	}
	own.Figures, own.WriteOutage, own.ReadOutage = figures, writes.longest, reads.longest
	return check.Applicable(results, config.NotApplicable()), own, nil
}

// Figures are what is counted beside the verdicts. All times are nanoseconds.
type Figures struct {
	keyvalue.Figures
	// Writes are operations by what they ended as, and Attempts how many
	// attempts they took. Operations without a record are not among them.
	Writes   history.Counts
	Attempts int64
	// Reads are reads by what they ended as: committed or failed.
	Reads history.Counts
	// Probes counts reads of nothing, while nothing was acknowledged yet; they
	// are among Reads.
	Probes int64
	// HungWrites and HungReads count the calls that were in flight, without a
	// time limit, until the run ended.
	HungWrites int64
	HungReads  int64
	// LongestWrite and LongestRead are the longest calls: single attempts.
	LongestWrite int64
	LongestRead  int64
	// WriteOutage and ReadOutage are the longest times in which no insert was
	// acknowledged, and no read answered.
	WriteOutage Gap
	ReadOutage  Gap
}

// Gap is a time without success, since the start of the run.
type Gap struct {
	From int64
	To   int64
}

// Length is how long it lasted.
func (g Gap) Length() int64 { return g.To - g.From }

func (f *Figures) write(op *history.Op) {
	f.Attempts++
	f.LongestWrite = max(f.LongestWrite, op.End-op.Start)
	if op.Error == load.ClassHung {
		f.HungWrites++
	}
	if op.Last {
		f.Writes.Add(op.Final, 1)
	}
}

func (f *Figures) read(op *history.Op) {
	f.LongestRead = max(f.LongestRead, op.End-op.Start)
	if op.Error == load.ClassHung {
		f.HungReads++
	}
	outcome := op.Outcome
	if outcome != history.Committed {
		outcome = history.Failed // it has no effect
	}
	f.Reads.Add(outcome, 1)
	if op.Kind == keyvalue.KindProbe && op.Outcome == history.Committed {
		f.Probes++
	}
}

// outage finds the longest time without a success, from the first success to the
// end of the measured part. Records come nearly in the order of their ends.
type outage struct {
	last    int64
	any     bool
	over    bool
	longest Gap
}

func (f *outage) op(op *history.Op) {
	if success := op.Outcome == history.Committed || op.Last && op.Final == history.Committed; !success || f.over {
		return
	}
	f.until(op.End)
	f.last, f.any = max(f.last, op.End), true
}

// end says that no success is expected any more.
func (f *outage) end(at int64) {
	f.until(at)
	f.over = true
}

func (f *outage) until(at int64) {
	if f.any && at-f.last > f.longest.Length() {
		f.longest = Gap{From: f.last, To: at}
	}
}
