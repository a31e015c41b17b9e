package redis

import (
	"context"
	"errors"
	"slices"

	"assay/driver/rows"
	"assay/history"
	"assay/store"
)

// transaction keeps its reads and writes; nothing that writes is sent before the commit. It is a
// rows.Reader.
type transaction struct {
	*session
	ctx context.Context
	// optimistic: reads are watched.
	optimistic bool
	held       map[string]*held
	written    []string
	// asked counts the reading round trips.
	asked   int
	failure *store.Reply
}

type held struct {
	key            string
	row            rows.Row
	there, written bool
}

// errLeft: a command failed; its reply is in transaction.failure.
var errLeft = errors.New("the transaction cannot go on")

func (n *session) begin(ctx context.Context, optimistic bool) *transaction {
	return &transaction{session: n, ctx: ctx, optimistic: optimistic, held: map[string]*held{}}
}

func (n *session) perform(ctx context.Context, doing string, work func(*transaction) error) store.Reply {
	t := n.begin(ctx, true)
	if err := work(t); err != nil || t.failure != nil {
		return n.done(t.refusal(doing, err))
	}
	return n.done(t.commit(doing))
}

// refusal is the reply to an abandoned transaction, which wrote nothing.
func (t *transaction) refusal(doing string, err error) store.Reply {
	switch {
	case t.failure != nil:
		r := *t.failure
		r.Outcome = history.Failed
		if err != nil && !errors.Is(err, errLeft) {
			r.Err = failed(doing, errors.Join(err, r.Err))
		}
		return r
	case t.ctx.Err() != nil && classOfLoss(err) == store.ClassTimeout:
		return refused(store.ClassTimeout, doing, err)
	}
	return refusedBy(doing, err)
}

func (t *transaction) fail(r store.Reply) error {
	t.failure = &r
	return errors.Join(errLeft, r.Err)
}

type wanted struct {
	keys   []string
	tables []*rows.Table
}

func (w *wanted) add(t *rows.Table, key string) {
	w.keys, w.tables = append(w.keys, key), append(w.tables, t)
}

// fetch reads the rows of these keys that are not held, in one state and one round trip. It watches
// them first, so that no change is missed.
func (t *transaction) fetch(w wanted) error {
	var missing wanted
	for i, key := range w.keys {
		if t.held[key] == nil && !slices.Contains(missing.keys, key) {
			missing.add(w.tables[i], key)
		}
	}
	if len(missing.keys) == 0 {
		return nil
	}
	if err := t.turnOnce(missing.keys); err != nil {
		return t.fail(t.untaken("read", err))
	}
	read := asking("mget", missing.keys)
	all := t.unwatched()
	if t.optimistic {
		all = append(all, asking("watch", missing.keys))
		t.link.watching = true
	}
	t.asked++
	all = append(all, read)
	if err := t.link.do(t.ctx, all...); err != nil {
		return t.fail(t.link.lost("read", err))
	}
	for _, c := range all {
		if c.err != nil {
			return t.fail(answered("read", c.err))
		}
	}
	values, err := answerOf[[]any](read)
	if err == nil && len(values) != len(missing.keys) {
		err = errors.New("MGET answered another number of values than it was asked for")
	}
	for i := 0; i < len(values) && err == nil; i++ {
		h := &held{key: missing.keys[i]}
		var value string
		if value, h.there = values[i].(string); h.there {
			h.row, err = rowOf(missing.tables[i], value)
		}
		t.held[h.key] = h
	}
	return err
}

// turnOnce is turn, and returns errApart if the transaction has read at another server.
func (t *transaction) turnOnce(keys []string) error {
	before := t.link
	err := t.turn(t.ctx, keys)
	if err == nil && t.asked > 0 && t.link != before {
		err = errApart
	}
	return err
}

// unwatched is UNWATCH if an earlier transaction's keys are still watched.
func (t *transaction) unwatched() []*command {
	if t.asked > 0 || !t.link.watching {
		return nil
	}
	t.link.watching = false
	return []*command{newCommand("unwatch")}
}

func (t *transaction) Row(of *rows.Table, key []rows.Value) (row rows.Row, there bool, err error) {
	name := t.key(of, key)
	if err := t.fetch(wanted{[]string{name}, []*rows.Table{of}}); err != nil {
		return row, false, err
	}
	h := t.held[name]
	return h.row, h.there, nil
}

// ahead reads all rows with known keys of the calls at once.
func (t *transaction) ahead(calls []store.Call) error {
	var w wanted
	for i := range calls {
		if p := t.plans[calls[i].Statement]; t.e.Known(p, calls[i].Parameters) {
			w.add(p.Table, t.key(p.Table, t.e.Key))
		}
	}
	return t.fetch(w)
}

func (t *transaction) step(call *store.Call) (changed int64, err error) {
	err = call.Counted(func(row func(store.Row) error) (err error) {
		changed, err = t.execute(t.plans[call.Statement], call.Parameters, row)
		return err
	})
	return changed, err
}

// execute does a statement, calls row with each of its rows and counts the changed rows.
func (t *transaction) execute(p *rows.Plan, parameters []store.Value, row func(store.Row) error) (changed int64, err error) {
	switch p.Verb {
	case store.Insert:
		return t.add(p, parameters)
	case store.Put:
		made, err := t.made(p, parameters, t)
		if err == nil {
			err = t.set(p.Table, t.keyOf(p.Table, made[0]), made[0])
		}
		return 1, err
	}
	found, err := t.found(p, parameters)
	switch {
	case err != nil:
		return 0, err
	case p.ReadsOnly():
		return 0, t.give(p, parameters, found, row)
	case p.Verb == store.Delete:
		for _, h := range found {
			h.there = false
			t.write(h)
		}
		return int64(len(found)), nil
	}
	for _, h := range found {
		if err := t.change(p, parameters, h, row); err != nil {
			return 0, err
		}
	}
	return int64(len(found)), nil
}

func (t *transaction) add(p *rows.Plan, parameters []store.Value) (int64, error) {
	made, err := t.made(p, parameters, t)
	if err != nil {
		return 0, err
	}
	var w wanted
	for _, row := range made {
		w.add(p.Table, t.keyOf(p.Table, row))
	}
	if err := t.fetch(w); err != nil {
		return 0, err
	}
	for i, row := range made {
		if t.held[w.keys[i]].there {
			return 0, p.Table.Exists()
		}
		if err := t.set(p.Table, w.keys[i], row); err != nil {
			return 0, err
		}
	}
	return int64(len(made)), nil
}

// found are the rows that a statement names and that satisfy its conditions.
func (t *transaction) found(p *rows.Plan, parameters []store.Value) (all []*held, err error) {
	if err := t.e.Bind(p, parameters, t); err != nil {
		return nil, err
	}
	var w wanted
	for _, key := range t.keysNamed(p) {
		w.add(p.Table, key)
	}
	if err := t.fetch(w); err != nil {
		return nil, err
	}
	for _, key := range w.keys {
		if h := t.held[key]; h.there && p.Table.Match(h.row, t.e.Where) {
			all = append(all, h)
		}
	}
	return all, nil
}

func (t *transaction) give(p *rows.Plan, parameters []store.Value, found []*held, row func(store.Row) error) error {
	answer := rows.Answer{Plan: p, Totals: p.Totals(nil)}
	if p.Verb == store.Count {
		for _, h := range found {
			if err := p.Total(answer.Totals, h.row); err != nil {
				return err
			}
		}
		return row(&answer)
	}
	slices.SortStableFunc(found, func(a, b *held) int { return p.Compare(a.row, b.row) })
	left, err := t.e.Limit(p, parameters)
	if err != nil {
		return err
	}
	if left >= 0 {
		found = found[:min(left, int64(len(found)))]
	}
	for _, h := range found {
		answer.Row = h.row
		if err := row(&answer); err != nil {
			return err
		}
	}
	return nil
}

func (t *transaction) change(p *rows.Plan, parameters []store.Value, h *held, row func(store.Row) error) error {
	if err := t.e.Assign(p, parameters, h.row, t); err != nil {
		return err
	}
	after := p.Table.Make()
	after.Copy(h.row)
	p.Table.Write(after, p.Written, t.e.Values)
	if err := t.set(p.Table, h.key, after); err != nil {
		return err
	}
	if row == nil || len(p.Columns) == 0 {
		return nil
	}
	return row(&rows.Answer{Plan: p, Row: after})
}

// set lets the commit write a row.
func (t *transaction) set(of *rows.Table, key string, row rows.Row) error {
	if err := of.Allow(row); err != nil {
		return err
	}
	h := t.held[key]
	if h == nil {
		h = &held{key: key}
		t.held[key] = h
	}
	h.row, h.there = row, true
	t.write(h)
	return nil
}

func (t *transaction) write(h *held) {
	if !h.written {
		h.written, t.written = true, append(t.written, h.key)
	}
}
