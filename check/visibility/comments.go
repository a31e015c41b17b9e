package visibility

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/check/operation"
	"assay/history"
	"assay/history/exchange"
)

// Comments judges blind writes of identifiers and reads of all of them
// (CockroachDB's comments, jepsen.tests.causal-reverse): who sees a write sees
// all that were acknowledged before it began. Serializability allows otherwise,
// strict serializability does not.
type Comments struct {
	written *writes
	reads   []commentsRead
}

type commentsRead struct {
	by  operation.Operation
	saw []exchange.Atom
}

// NewComments returns a judge.
func NewComments() *Comments { return &Comments{written: newWrites()} }

// Add takes one operation, a :write of an identifier or a :read answered with a
// list or a set of them. Any other is an error.
func (c *Comments) Add(o *exchange.Operation) error {
	switch o.Word {
	case "write":
		id, err := operation.Element(o)
		if err == nil {
			c.written.add(id, o)
		}
		return err
	case "read":
		if err := operation.Nothing(o); err != nil {
			return err
		}
		if o.Outcome != history.Committed {
			return nil
		}
		saw, err := operation.Elements(o, &o.Answer)
		if err == nil {
			c.reads = append(c.reads, commentsRead{operation.Of(o), saw})
		}
		return err
	}
	return operation.UnknownFunction(o, "write and read")
}

// Result returns the answer over all operations.
func (c *Comments) Result(context.Context) check.Result {
	f := operation.NewFindings(kindGap, kindUnexpected, kindFailed, kindFuture)
	var ids []exchange.Atom // of acknowledged writes, in the order of their ends
	for id, w := range c.written.of {
		if w.Acknowledged() {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b exchange.Atom) int {
		return cmp.Compare(c.written.of[a].Complete, c.written.of[b].Complete)
	})
	var saw int64
	for i := range c.reads {
		saw += int64(len(c.reads[i].saw))
		c.judge(&c.reads[i], ids, f)
	}
	r := f.Result("comments", fmt.Sprintf("%s, %s", operation.Plural(c.written.count, "write"), operation.Plural(len(c.reads), "read")))
	missing := ""
	if c.written.again != nil {
		missing = fmt.Sprintf("%s was written more than once, so that reads do not tell which write they saw", *c.written.again)
	}
	r.Finish(missing, saw == 0, "no read saw a write, so nothing can be said")
	return r
}

// judge compares what a read saw with what was acknowledged before the last of
// it began: as many, or it missed one.
func (c *Comments) judge(read *commentsRead, ids []exchange.Atom, f *operation.Findings) {
	var last *operation.Operation
	var lastID exchange.Atom
	seen := make(map[exchange.Atom]bool, len(read.saw))
	for _, id := range read.saw {
		if seen[id] || !c.written.seen(id, &read.by, f) {
			continue
		}
		seen[id] = true
		if w := c.written.of[id]; last == nil || w.Invoke > last.Invoke {
			last, lastID = w, id
		}
	}
	if last == nil {
		return
	}
	before, _ := slices.BinarySearchFunc(ids, last.Invoke, func(id exchange.Atom, at int64) int {
		return cmp.Compare(c.written.of[id].Complete, at)
	})
	there := 0
	for id := range seen {
		if c.written.of[id].Complete < last.Invoke {
			there++
		}
	}
	if there == before {
		return
	}
	f.AddEvidence(kindGap, func() check.Evidence {
		missed := ids[slices.IndexFunc(ids[:before], func(id exchange.Atom) bool { return !seen[id] })]
		return read.by.Evidence(kindGap, "saw %s and missed %s, which %s had written before %s began to write the first (%d missed in all)",
			lastID, missed, c.written.of[missed], last, before-there)
	})
}
