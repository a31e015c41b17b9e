package entity

import (
	"assay/check"
	"assay/history"
	"assay/report"
	"assay/workload/definition"
	"assay/workload/keyvalue"
)

// Judgement is what the files of one run say.
type Judgement struct {
	// Results are those of keyvalue.CheckAcknowledged, CheckRows and CheckReads,
	// the last only if the mix has reads. All seven fields of an entity must be
	// as they were written.
	Results []check.Result
	Figures Figures
}

// Judge judges a run by its files alone; see keyvalue.Judge.
func Judge(config Config, seed uint64, e definition.Evidence) (Judgement, error) {
	if err := config.Validate(); err != nil {
		return Judgement{}, err
	}
	var o observer
	results, figures, err := keyvalue.Judge(preset(config, seed), e, &o)
	if err != nil {
		return Judgement{}, err
	}
	if config.WriteShare == 1 {
		results = results[:2]
	}
	return Judgement{Results: results, Figures: Figures{figures, o.writes.Flow(), o.reads.Flow()}}, nil
}

// observer takes the figures of this workload.
type observer struct{ writes, reads *definition.Pace }

// Begin implements keyvalue.Observer.
func (o *observer) Begin(from, to int64) {
	o.writes, o.reads = definition.NewPace(from, to), definition.NewPace(from, to)
}

// Op implements keyvalue.Observer.
func (o *observer) Op(op *history.Op) {
	switch op.Kind {
	case keyvalue.KindInsert:
		o.writes.Op(op)
	case keyvalue.KindGet:
		o.reads.Op(op)
	}
}

// Event implements keyvalue.Observer.
func (o *observer) Event(history.Event) {}

// Figures are what is counted beside the verdicts.
type Figures struct {
	keyvalue.Figures
	// Writes and Reads are the two kinds of operations.
	Writes, Reads report.Flow
}
