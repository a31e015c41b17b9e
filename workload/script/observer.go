package script

import (
	"context"
	"errors"
	"fmt"

	"assay/history"
	"assay/load"
	"assay/store"
)

// KindObserve is an observation. Its Values are the numbers of the invariants that did not hold.
const KindObserve uint8 = 255

// observer checks the invariants in one state while transactions go on.
type observer struct {
	work   *Work
	values []int64
}

func (o *observer) Attempt(ctx context.Context, seq uint64, _ int) load.Answer {
	var texts []string
	var broken []int64
	var answers []answer
	err := look(ctx, o.work.Audit, func(q Querier) error {
		texts, broken, answers = nil, nil, nil
		for i := range o.work.program.invariants {
			n := &o.work.program.invariants[i]
			if n.atEnd {
				continue
			}
			a, err := ask(ctx, q, n.query)
			if err != nil {
				return err
			}
			if wrong := n.judge(a); wrong != "" {
				broken, answers = append(broken, int64(i)), append(answers, a)
				texts = append(texts, fmt.Sprintf("%s in observation %d, while transactions went on", wrong, seq))
			}
		}
		return nil
	})
	if err != nil {
		class := store.ClassOther
		if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
			class = store.ClassTimeout
		}
		return load.Answer{Kind: KindObserve, Outcome: history.Failed, Class: class, Said: store.Said(err)}
	}
	for i, text := range texts {
		o.work.findings.add(CheckInvariants, int(broken[i]), []string{text})
		o.work.watch.concerned(int(broken[i]), answers[i])
	}
	o.values = append(o.values[:0], broken...)
	return load.Answer{Kind: KindObserve, Outcome: history.Committed, Values: o.values}
}

func (o *observer) Close() {}

// answer is a query's answer as kept in the state.
type answer struct {
	// Rows are the first of Count rows.
	Rows  [][]any `json:"rows"`
	Count int64   `json:"count"`
}

// maxAnswer bounds the kept rows.
const maxAnswer = 10

// ask runs a query. A document becomes a row of its fields.
func ask(ctx context.Context, q Querier, s Statement) (a answer, err error) {
	err = q.Query(ctx, s, func(row []any) error {
		if a.Count++; a.Count > maxAnswer {
			return nil
		}
		if s.Command != nil && len(row) == 1 {
			if d, is := row[0].(store.Document); is {
				row = columnsOf(d)
			}
		}
		a.Rows = append(a.Rows, row)
		return nil
	})
	return a, err
}

// ask runs a count's query. An aggregation that counts nothing gives no document: 0.
func (c *rowCount) ask(ctx context.Context, q Querier) (answer, error) {
	a, err := ask(ctx, q, c.query)
	if err == nil && a.Count == 0 && c.query.Command != nil {
		a = answer{Rows: [][]any{{int64(0)}}, Count: 1}
	}
	return a, err
}

// value is the answer's only value.
func (a answer) value() (any, bool) {
	if a.Count != 1 || len(a.Rows) != 1 || len(a.Rows[0]) != 1 {
		return nil, false
	}
	return a.Rows[0][0], true
}

// judge says how an answer breaks the invariant; empty if it does not.
func (i *invariant) judge(a answer) string {
	if i.empty {
		if a.Count == 0 {
			return ""
		}
		text := fmt.Sprintf("%s: no row was to be there, and %d were, such as", i.name, a.Count)
		for n, row := range a.Rows[:min(3, len(a.Rows))] {
			if n > 0 {
				text += ","
			}
			text += " " + showRow(row)
		}
		return text
	}
	v, single := a.value()
	switch {
	case !single:
		return fmt.Sprintf("%s: one value was to be there, and the query gives %d rows", i.name, a.Count)
	case !i.wanted.holds(v):
		return fmt.Sprintf("%s: wanted %s, got %s", i.name, i.wanted, show(v))
	}
	return ""
}
