package mem

import (
	"context"
	"fmt"
	"slices"

	"assay/history"
	"assay/workload"
	"assay/workload/churn"
)

// Heap is one database of workload churn's. It is safe for concurrent use. All
// Stores that Churn returns share it.
type Heap struct {
	*site
	bag[int64, churn.Row]
	held int // rows that there is room for, which a repair gives back
	late []func()
}

// NewChurn returns an empty database of workload churn's. It returns
// *workload.OptionError for a bug that does not exist or a value out of range.
func NewChurn(o Options) (*Heap, error) {
	s, err := newSite(o, ChurnBugs())
	if err != nil {
		return nil, err
	}
	d := &Heap{site: s}
	d.key = func(r churn.Row) int64 { return r.ID }
	d.reset()
	return d, nil
}

// ChurnBugs returns all that can be switched on in workload churn.
func ChurnBugs() []Bug {
	const check = churn.CheckRows
	return []Bug{
		{Name: "lost-ack", Check: check, Kinds: []string{"lost"}, Passing: true, Doc: "one row of an insert that is acknowledged is not there"},
		{Name: "undeleted", Check: check, Kinds: []string{"undeleted"}, Passing: true, Doc: "a deletion is acknowledged and leaves one of its rows"},
		{Name: "failed-but-applied", Check: check, Kinds: []string{"failed", "lost"}, Passing: true, Doc: "failed is answered to an insert or a deletion that is done"},
		{Name: "altered-row", Check: check, Kinds: []string{"altered"}, Passing: true, Doc: "one row of an insert has another payload"},
		{Name: "duplicate-row", Check: check, Kinds: []string{"doubled", "undeleted"}, Doc: "one row of an insert is there twice, and the second is never deleted"},
		{Name: "extra-row", Check: check, Kinds: []string{"foreign"}, Doc: "a row that nobody inserted is there beside those of an insert"},
		{Name: "truncated-read", Check: check, Kinds: []string{"lost"}, Doc: "a read of everything ends early and without an error"},
		{Name: "late-apply", Doc: "unknown is answered and the insert or deletion done before Settle returns; that is allowed and must be found valid"},
	}
}

// Churn returns a Store on this database.
func (d *Heap) Churn() churn.Store { return &heapStore{newShell(d.site, d), d} }

// reset empties the schema. The caller holds the lock, as for all methods below.
func (d *Heap) reset() {
	d.empty()
	d.held, d.late = 0, nil
}

func (d *Heap) count() int64 { return int64(len(d.rows)) }

func (d *Heap) settle() {
	for _, do := range d.late {
		do()
	}
	d.late = nil
}

// struck is the bug that strikes at this call, empty for none.
func (d *Heap) struck() string {
	for _, bug := range d.armed {
		if bug.Name != "truncated-read" && d.hits(bug.probability) {
			return bug.Name
		}
	}
	return ""
}

func (d *Heap) insert(rows []churn.Row) churn.Reply {
	for _, r := range rows {
		if d.has(r.ID) {
			return churn.Reply{Outcome: history.Failed, Class: workload.ClassDuplicate}
		}
	}
	rows = slices.Clone(rows)
	one := d.chance.IntN(max(len(rows), 1))
	bug := d.struck()
	switch bug {
	case "lost-ack":
		rows = slices.Delete(rows, one, min(one+1, len(rows)))
	case "altered-row":
		rows[one].Payload += "?"
	}
	return d.finish(bug, func() {
		for _, r := range rows {
			d.add(r)
		}
		d.held = max(d.held, len(d.rows))
		switch bug {
		case "duplicate-row":
			d.rows = append(d.rows, rows[one])
		case "extra-row":
			d.rows = append(d.rows, churn.Row{ID: 1<<40 + int64(len(d.rows))})
		}
	})
}

func (d *Heap) deleteAll(ids []int64) churn.Reply {
	ids = slices.Clone(ids)
	bug := d.struck()
	if bug == "undeleted" && len(ids) > 0 {
		one := d.chance.IntN(len(ids))
		ids = slices.Delete(ids, one, one+1)
	}
	return d.finish(bug, func() {
		for _, id := range ids {
			d.lose(id)
		}
	})
}

// finish does it, now or later or not at all, and answers.
func (d *Heap) finish(bug string, do func()) churn.Reply {
	switch {
	case bug == "late-apply":
		d.late = append(d.late, do)
		return churn.Reply{Class: workload.ClassTimeout}
	case bug == "" && d.hits(d.timeout):
		if d.chance.Uint64()&1 == 0 {
			do()
		}
		return churn.Reply{Class: workload.ClassTimeout}
	}
	do()
	if bug == "failed-but-applied" {
		return churn.Reply{Outcome: history.Failed, Class: workload.ClassSerialization}
	}
	return churn.Reply{Outcome: history.Committed}
}

// heapStore is a churn.Store on a Heap.
type heapStore struct {
	shell
	d *Heap
}

// OpenChurn returns a Store on a new, empty database: two Stores opened so share
// nothing. The address and the errors are OpenBank's, with the bugs of
// ChurnBugs.
func OpenChurn(_ context.Context, target workload.Target) (churn.Store, error) {
	o, err := parse(target, ChurnBugs())
	if err != nil {
		return nil, err
	}
	d, err := NewChurn(o)
	if err != nil {
		return nil, err
	}
	return d.Churn(), nil
}

const repairHeap = "repair"

// Repairs implements churn.Store.
func (s *heapStore) Repairs() []string { return []string{repairHeap} }

// Repair implements churn.Store.
func (s *heapStore) Repair(_ context.Context, name string) error {
	if name != repairHeap {
		return fmt.Errorf("mem: there is no repair %q", name)
	}
	return s.locked(true, func() error { s.d.held = len(s.d.rows); return nil })
}

// Read implements churn.Store. It holds up all other calls while it lasts, and
// the callback must make none.
func (s *heapStore) Read(ctx context.Context, row func(churn.Row) error) error {
	return s.locked(true, func() error {
		rows := s.d.rows
		for _, bug := range s.d.armed {
			if bug.Name == "truncated-read" && s.d.hits(bug.probability) {
				rows = rows[:s.d.chance.IntN(max(len(rows), 1))]
			}
		}
		return each(ctx, rows, row)
	})
}

// Size implements churn.Store. It is memory, there being no disk: the room that
// rows have taken and no repair has given back, of the longest row.
func (s *heapStore) Size(context.Context) (size workload.Size, err error) {
	err = s.locked(true, func() error {
		longest := 0
		for _, r := range s.d.rows {
			longest = max(longest, len(r.Payload))
		}
		size.Bytes = int64(s.d.held * (longest + 8))
		size.Tables, size.Rows = size.Bytes, map[string]int64{"row": int64(len(s.d.rows))}
		return nil
	})
	return size, err
}

// heapSession is one client's.
type heapSession struct{ d *Heap }

// Session implements churn.Store.
func (s *heapStore) Session(context.Context) (churn.Session, error) {
	if err := s.ready(); err != nil {
		return nil, err
	}
	return &heapSession{s.d}, nil
}

// Insert implements churn.Session.
func (n *heapSession) Insert(ctx context.Context, rows []churn.Row) churn.Reply {
	return n.call(ctx, "insert", func() churn.Reply { return n.d.insert(rows) })
}

// Delete implements churn.Session.
func (n *heapSession) Delete(ctx context.Context, ids []int64) churn.Reply {
	return n.call(ctx, "delete", func() churn.Reply { return n.d.deleteAll(ids) })
}

// call does something under the lock, after the latency.
func (n *heapSession) call(ctx context.Context, doing string, do func() churn.Reply) churn.Reply {
	if no := n.d.enter(ctx, doing); no != nil {
		return *no
	}
	defer n.d.mu.Unlock()
	return do()
}

// Close implements churn.Session.
func (n *heapSession) Close() {}
