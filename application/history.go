package application

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"assay/application/wire"
	"assay/history"
	"assay/history/exchange"
)

// keepHistory writes the rows that a run has inserted as a set, for assay check: transactions add them,
// and the last read finds those that are there. Where the run may have removed some, there is none. What
// it updates and reads is left out: see docs/internals/decisions/application-history.md.
func (t *trying) keepHistory(name string, r *run) (err error) {
	if t.base == nil || len(r.rows) == 0 || r.problem != nil || t.base.unlike(r) != "" || t.base.cascaded(r, r.lost()) != "" {
		return nil
	}
	var all []*exchange.Operation
	read := &exchange.Operation{Index: exchange.NoIndex, Function: exchange.Other, Word: "read", Outcome: history.Committed, Answer: exchange.Value{Form: exchange.List}}
	for _, s := range r.rows {
		for i, x := range slices.Concat(s.acknowledged, s.unknown) {
			row := rowOf(s.query, i)
			all = append(all, addition(x, row, int64(len(all))))
			read.Invoke = max(read.Invoke, int64(x.Ended)+1)
			if int64(i) < s.found {
				read.Answer.Items = append(read.Answer.Items, row)
			}
		}
	}
	read.Process, read.Complete = int64(len(all)), read.Invoke+1
	read.InvokeTime, read.CompleteTime = read.Invoke, read.Complete
	slices.SortStableFunc(all, func(a, b *exchange.Operation) int { return cmp.Compare(a.Invoke, b.Invoke) })
	all = append(all, read)
	var span exchange.Span
	for _, op := range all {
		span.See(op.Invoke, op.Complete)
	}
	file, err := os.Create(filepath.Join(t.Folder, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	to, err := exchange.NewWriter(file, exchange.Output{Format: exchange.EDN, Processes: int64(len(all)), Window: span.Window()})
	if err != nil {
		return err
	}
	for _, op := range all {
		if err := to.Add(op); err != nil {
			return err
		}
	}
	return to.Close()
}

// addition is a row that a transaction has inserted: certainly, where the application was told so.
func addition(x *wire.Transaction, row exchange.Value, process int64) *exchange.Operation {
	op := &exchange.Operation{Index: exchange.NoIndex, Process: process, Function: exchange.Other, Word: "add", Invoke: int64(x.Began), Complete: exchange.Never, Request: row}
	if x.Outcome == wire.Committed && x.Told {
		op.Outcome, op.Complete, op.Answer = history.Committed, int64(x.Ended), row
	}
	op.InvokeTime, op.CompleteTime = op.Invoke, op.Complete
	return op
}

// rowOf is a row by the query that counts it, and its number among equal ones.
func rowOf(query string, i int) exchange.Value {
	text := strconv.QuoteToASCII(query)
	text = text[1 : len(text)-1]
	if i > 0 {
		text += " #" + strconv.Itoa(i+1)
	}
	return exchange.Value{Atom: exchange.Atom{Kind: exchange.String, Text: text}}
}
