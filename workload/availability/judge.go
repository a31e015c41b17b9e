package availability

import (
	"assay/check"
	"assay/history"
	"assay/workload/keyvalue"
)

// Judgement is what the files of one run say.
type Judgement struct {
	// Results are those of keyvalue.CheckAcknowledged, CheckRows and, if there
	// were readers, CheckReads.
	Results []check.Result
	Figures Figures
}

// Judge judges a run by its files alone; see keyvalue.Judge.
func Judge(config Config, seed uint64, e keyvalue.Evidence) (Judgement, error) {
	if err := config.Validate(); err != nil {
		return Judgement{}, err
	}
	var o observer
	results, figures, err := keyvalue.Judge(preset(config, seed), e, &o)
	if err != nil {
		return Judgement{}, err
	}
	if !config.reads() {
		results = results[:2]
	}
	o.figures.Figures = figures
	o.figures.WriteOutage, o.figures.ReadOutage = o.writing.longest, o.reading.longest
	return Judgement{Results: results, Figures: o.figures}, nil
}

// observer takes the figures of this workload.
type observer struct {
	figures          Figures
	writing, reading outage
}

// Begin implements keyvalue.Observer.
func (o *observer) Begin(int64, int64) {}

// Op implements keyvalue.Observer.
func (o *observer) Op(op *history.Op) {
	switch op.Kind {
	case keyvalue.KindInsert:
		o.figures.write(op)
		o.writing.op(op)
	case keyvalue.KindGet, keyvalue.KindProbe:
		o.figures.read(op)
		o.reading.op(op)
	}
}

// Event implements keyvalue.Observer.
func (o *observer) Event(e history.Event) {
	if e.Name == history.EventMeasureEnd {
		o.writing.end(e.At)
		o.reading.end(e.At)
	}
}
