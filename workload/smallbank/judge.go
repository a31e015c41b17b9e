package smallbank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"assay/check"
	"assay/check/cycle"
	"assay/history"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/journal"
)

// The checks beside journal.CheckOperations.
const (
	CheckAccounts  = "accounts"
	CheckIsolation = "isolation"
)

// searchTimeout bounds the search for anomalies; the verdict is unknown after it.
const searchTimeout = 10 * time.Minute

// Judge implements definition.Config. A missing or cut state gives unknown verdicts, malformed
// files a *history.FormatError, an unknown model a *cycle.ModelError.
//
// It reads the history twice and keeps some 300 bytes an operation, beside cycle.Check.
func (c *Config) Judge(ctx context.Context, seed uint64, e definition.Evidence) (definition.Judgement, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTimeout)
	defer cancel()
	out, err := c.judge(ctx, seed, e, cmp.Or(c.Model, e.Promise))
	if err != nil || c.Model == "" || c.Model == e.Promise {
		return out, err
	}
	out.Asked = c.Model
	kept, err := c.judge(ctx, seed, e, e.Promise)
	if unknown := (*cycle.ModelError)(nil); errors.As(err, &unknown) {
		kept.Results, err = []check.Result{{Name: "promise", Detail: "which model the vendor promises is not known"}}, nil
	}
	out.Promised = kept.Results
	return out, err
}

func (c *Config) judge(ctx context.Context, seed uint64, e definition.Evidence, judged string) (out definition.Judgement, err error) {
	model, err := cycle.ParseModel(judged)
	if err != nil {
		return out, err
	}
	// Snapshot reads are a promise to plain reads. Updates, which most reads here are, see the
	// newest row.
	if model == cycle.SnapshotReads {
		model = cycle.ReadCommitted
	}
	operations := &Operations{*c, seed}
	j := &judge{operations: operations, evidence: e, acknowledged: map[int64]Result{}, entries: map[int64]Entry{}, accounts: newAccounts(operations)}
	j.journal.Writes = func(kind uint8) bool { return kind != KindBalance }
	j.journal.Describe = j.describe
	if j.missing, err = j.journal.Read(e, state(), j.record, j.row); err != nil {
		return out, err
	}
	balances := j.judgeAccounts()
	if _, err = history.Read(e.History, history.Visitor{Op: j.transaction}); err == nil {
		err = j.unrecorded()
	}
	if err != nil {
		return out, err
	}
	report := cycle.Check(ctx, j.cycle.History(), model, cycle.Options{})
	out.Counts, out.Notes = j.journal.Counts, append([]string{fmt.Sprintf("judged against %s", model)}, j.notes()...)
	j.name(&report)
	out.Results = []check.Result{j.journal.Result(j.missing), balances, report.Result()}
	return out, nil
}

type judge struct {
	operations *Operations
	evidence   definition.Evidence
	journal    journal.Operations
	// acknowledged are results of writing operations, entries their first journal rows.
	acknowledged map[int64]Result
	entries      map[int64]Entry
	accounts     *accounts
	// missing says why rows may be missing; empty if none are.
	missing string
	ended   int64

	cycle cycle.Builder
	steps []cycle.Op
	// alone counts the transactions whose end is not known.
	alone int32
}

func (j *judge) describe(id int64) string {
	o := j.operations.At(id)
	name := kindNames()[o.Kind]
	switch o.Kind {
	case KindBalance:
		return fmt.Sprintf("%s of customer %d", name, o.Customer)
	case KindAmalgamate:
		return fmt.Sprintf("%s of customer %d to customer %d", name, o.Customer, o.Other)
	default:
		return fmt.Sprintf("%s of %d for customer %d", name, o.Amount, o.Customer)
	}
}

func (j *judge) record(op *history.Op) error {
	o := j.operations.At(workload.OperationID(op.Client, op.Seq))
	if op.Kind != o.Kind || op.Outcome == history.Committed && len(op.Values) != resultValues {
		return j.evidence.Malformed(op)
	}
	j.ended = max(j.ended, op.End)
	if op.Outcome != history.Committed {
		return nil
	}
	r := resultFrom(op.Values)
	if o.Writes() {
		j.acknowledged[o.ID] = r
	}
	for n := 0; n < len(r.Read) && o.Reads(); n++ {
		j.accounts.reads = append(j.accounts.reads, read{o.ID, o.accounts()[n], r.Read[n]})
	}
	return nil
}

func (j *judge) row(r journal.Row) error {
	if r.Table != Journal {
		j.accounts.row(r)
		return nil
	}
	e := entryFrom(r.Values)
	o := j.operations.At(e.ID)
	if j.journal.Row(e.ID, j.wrong(&o, e)) {
		j.entries[e.ID] = e
	}
	return nil
}

// wrong says how a row differs from the expected row.
func (j *judge) wrong(o *Operation, e Entry) string {
	r, acknowledged := j.acknowledged[o.ID]
	charged := o.Charged(&r)
	switch {
	case !o.Writes():
		return "has a row, and only reads"
	case e.Customer != o.Customer || e.Other != o.Other:
		return fmt.Sprintf("has a row for customer %d and customer %d", e.Customer, e.Other)
	case !acknowledged && (e.Amount == o.Amount || o.Kind == KindAmalgamate || o.Kind == KindWriteCheck && e.Amount == o.Amount+Penalty):
		return ""
	case acknowledged && e == EntryOf(o, &r):
		return ""
	case acknowledged && e.Amount == charged:
		return "has a row that says otherwise than its answer what it has overwritten"
	default:
		return fmt.Sprintf("has a row with the amount %d; by what it has read it would be %d", e.Amount, charged)
	}
}

func (j *judge) notes() (notes []string) {
	notes = j.evidence.UnknownNotes("unknown operation that writes", "unknown operations that write", j.journal.Unknown, j.journal.Applied)
	if created := j.accounts.created; created != 0 && j.missing == "" {
		notes = append(notes, fmt.Sprintf("Amalgamate has moved money that others had changed meanwhile: %+d in all is there that should not be", created))
	}
	return notes
}

// name puts the anomalies into the workload's words.
func (j *judge) name(r *cycle.Report) {
	for i := range r.Evidence {
		e := &r.Evidence[i]
		var who []string
		for n, t := range e.Txns {
			if t.ID >= 0 {
				who = append(who, fmt.Sprintf("T%d is %s", n+1, j.describe(t.ID)))
				e.Txns[n].Text = j.describe(t.ID) + ": " + t.Text
			}
		}
		switch skew := j.writeSkew(e); {
		case skew != "": // the steps of the cycle say the rest
			e.Text = skew
		case len(e.Edges) == 0:
			e.Text = strings.TrimSuffix(e.Text, ".") + ". " + strings.Join(who, "; ") + "."
		}
	}
}

// writeSkew recognizes the paper's anomaly: a WriteCheck read savings that a TransactSaving
// changed, and a third transaction, such as a Balance, saw that change but not the check.
func (j *judge) writeSkew(e *cycle.Evidence) string {
	kind := func(i int) uint8 { o := j.operations.At(e.Txns[i].ID); return o.Kind }
	for i, edge := range e.Edges {
		if edge.Kind != "rw" || kind(edge.From) != KindWriteCheck || kind(edge.To) == KindWriteCheck {
			continue
		}
		before := e.Edges[(i+len(e.Edges)-1)%len(e.Edges)]
		if before.Kind != "rw" {
			continue
		}
		return fmt.Sprintf("write skew: the WriteCheck T%d decided about its penalty on a total without the %s T%d, which precedes the %s T%d, which did not see the check",
			edge.From+1, kindNames()[kind(edge.To)], edge.To+1, kindNames()[kind(before.From)], before.From+1)
	}
	return ""
}
