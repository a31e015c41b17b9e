package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"assay/driver/rows"
	"assay/history"
	"assay/store"
)

// session is a store.Session on one connection.
type session struct {
	*database
	link       *link
	plans      []*rows.Plan
	e          rows.Evaluation
	*spreading // nil unless rows are spread over the slots of a Redis Cluster
}

var errNotServed = errors.New("it does not name its rows by their whole key, by which alone Redis finds them")

func (d *database) compile(statements []store.Statement) (plans []*rows.Plan, err error) {
	if err := d.of.Check(statements); err != nil {
		return nil, err
	}
	for i := range statements {
		p, err := rows.Compile(d.tables, &statements[i], rows.Ways{Keyed: true, Usable: func(*rows.Table, int) bool { return false }})
		if err != nil {
			return nil, fmt.Errorf("redis: %w", err)
		}
		switch p.Verb {
		case store.Insert, store.Put:
		case store.Read, store.Count, store.Update, store.Delete:
			if p.Keyed == nil {
				return nil, failed(p.Name, errNotServed)
			}
		default:
			return nil, failed(p.Name, errors.New(Lacks()[store.Lists]))
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// Session implements store.Database. It tries an empty transaction first: without the right to
// MULTI, each command of a transaction would be done by itself.
func (d *database) Session(ctx context.Context, statements []store.Statement) (store.Session, error) {
	plans, err := d.compile(statements)
	if err != nil {
		return nil, err
	}
	n := &session{database: d, plans: plans}
	if d.spread {
		if err := n.reach(ctx); err != nil {
			return nil, d.unreached(ctx, "open a session", err)
		}
		return n, nil
	}
	if n.link, err = d.open(ctx); err != nil {
		return nil, d.unreached(ctx, "open a session", err)
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	if err := n.ready(ctx); err != nil {
		n.link.close()
		return nil, withDoing("open a session", err)
	}
	return n, nil
}

// ready names the connection if the mark is ours.
func (n *session) ready(ctx context.Context) error {
	mark, err := n.MustMark(ctx, n.link)
	if err != nil {
		return err
	}
	return n.link.name(ctx, n.clientName(mark.Run))
}

func (l *link) name(ctx context.Context, name string) error {
	return l.all(ctx, []*command{newCommand("client", "setname", name), newCommand("multi"), newCommand("exec")})
}

func (n *session) Close() {
	if n.spreading != nil {
		n.spreading.close()
		return
	}
	n.link.close()
}

// Waiting implements store.Session. No command waits for another session.
func (n *session) Waiting(context.Context) (waiting, known bool, err error) { return false, false, nil }

func (n *session) done(r store.Reply) store.Reply {
	r.Broken = r.Broken || n.link.broken
	return r
}

// Run implements store.Session, by a single command if possible.
func (n *session) Run(ctx context.Context, call store.Call) store.Reply {
	p := n.plans[call.Statement]
	switch {
	case p.ReadsOnly():
		t := n.begin(ctx, false)
		if _, err := t.step(&call); err != nil {
			return n.done(t.refusal(p.Name, err))
		}
		return n.done(committed())
	case p.Verb == store.Insert:
		return n.done(n.runInsert(ctx, p, &call))
	case p.Verb == store.Put:
		return n.done(n.runPut(ctx, p, &call))
	case p.Verb == store.Delete && !p.Filtered:
		return n.done(n.runDelete(ctx, p, &call))
	}
	var changed int64
	r := n.perform(ctx, p.Name, func(t *transaction) (err error) {
		changed, err = t.step(&call)
		return err
	})
	if r.Outcome == history.Committed {
		r.Affected = changed
	}
	return r
}

func (n *session) made(p *rows.Plan, parameters []store.Value, from rows.Reader) ([]rows.Row, error) {
	made := make([]rows.Row, p.Rows())
	for i := range made {
		if err := n.e.Row(p, i, parameters, from); err != nil {
			return nil, err
		}
		made[i] = p.Table.Make()
		p.Table.Write(made[i], p.Columns, n.e.Values)
	}
	return made, nil
}

func (n *session) runInsert(ctx context.Context, p *rows.Plan, call *store.Call) store.Reply {
	made, err := n.made(p, call.Parameters, nowhere{})
	if err != nil {
		return refusedBy(p.Name, err)
	}
	r := n.insert(ctx, p.Name, p.Table, made)
	if r.Outcome == history.Committed {
		r.Affected = int64(len(made))
	}
	return r
}

func (n *session) insert(ctx context.Context, doing string, t *rows.Table, made []rows.Row) store.Reply {
	if len(made) == 0 {
		return committed()
	}
	insertion, err := n.insertion(t, made)
	if err != nil {
		return refusedBy(doing, err)
	}
	inserted, r := n.write(ctx, doing, insertion, n.keysOf(t, made)...)
	if inserted == 0 && (r.Outcome == history.Committed || r.Class == classNotReplicated) {
		return refusedBy(doing, t.Exists())
	}
	return r
}

func (n *session) runPut(ctx context.Context, p *rows.Plan, call *store.Call) store.Reply {
	made, err := n.made(p, call.Parameters, nowhere{})
	if err == nil {
		err = p.Table.Allow(made[0])
	}
	if err != nil {
		return refusedBy(p.Name, err)
	}
	key := n.keyOf(p.Table, made[0])
	_, r := n.write(ctx, p.Name, newCommand("set", key, valueOf(made[0])), key)
	if r.Outcome == history.Committed {
		r.Affected = 1
	}
	return r
}

func (n *session) runDelete(ctx context.Context, p *rows.Plan, call *store.Call) store.Reply {
	if err := n.e.Bind(p, call.Parameters, nowhere{}); err != nil {
		return refusedBy(p.Name, err)
	}
	keys := n.keysNamed(p)
	deleted, r := n.write(ctx, p.Name, asking("del", keys), keys...)
	if r.Outcome == history.Committed {
		r.Affected = deleted
	}
	return r
}

// keysNamed are the keys that a statement's bound conditions name.
func (n *session) keysNamed(p *rows.Plan) (keys []string) {
	n.e.Keys(p, n.e.Where, func(key []rows.Value) bool {
		keys = append(keys, n.key(p.Table, key))
		return true
	})
	return keys
}

// write does a command that writes these keys. answer is its number, if it has one.
func (n *session) write(ctx context.Context, doing string, c *command, keys ...string) (answer int64, r store.Reply) {
	if err := n.turn(ctx, keys); err != nil {
		return 0, n.untaken(doing, err)
	}
	all, wait := n.confirmed(c)
	lost := n.link.do(ctx, all...)
	switch {
	case lost != nil:
		return 0, n.link.lost(doing, lost)
	case c.err != nil:
		return 0, answered(doing, c.err)
	}
	answer, _ = c.answer.(int64)
	return answer, n.confirm(doing, wait)
}

// confirmed appends the address's WAIT, nil without one.
func (n *session) confirmed(commands ...*command) (all []*command, wait *command) {
	if n.wait == 0 {
		return commands, nil
	}
	wait = newCommand("wait", strconv.Itoa(n.wait), strconv.FormatInt(n.waitFor.Milliseconds(), 10))
	return append(commands, wait), wait
}

// confirm is the reply to a write. If too few replicas confirm in time, it is done but not
// acknowledged; WAIT returns the number of replicas in any case (manual, "WAIT").
func (n *session) confirm(doing string, wait *command) store.Reply {
	if wait == nil {
		return committed()
	}
	have, err := answerOf[int64](wait)
	switch {
	case err != nil:
		r := answered(doing+", wait", err)
		r.Outcome = history.Unknown // the write was done
		return r
	case have < int64(n.wait):
		return store.Reply{Class: classNotReplicated, Err: failed(doing, fmt.Errorf("%d of %d replicas have it after %s", have, n.wait, n.waitFor))}
	}
	return committed()
}

func (n *session) Insert(ctx context.Context, of store.Rows) store.Reply {
	t, made, err := n.rowsOf(&of)
	if err != nil {
		return refusedBy("insert", err)
	}
	return n.done(n.insert(ctx, "insert", t, made))
}

// Load implements store.Session by Insert.
func (n *session) Load(ctx context.Context, of store.Rows) store.Reply { return n.Insert(ctx, of) }

// nowhere is the rows.Reader of single statements, before which nothing is left.
type nowhere struct{}

func (nowhere) Row(*rows.Table, []rows.Value) (row rows.Row, there bool, err error) {
	return row, false, nil
}

// refusedBy is the reply to an attempt that a constraint refused, or that sent nothing that writes.
func refusedBy(doing string, err error) store.Reply {
	var v *rows.Violation
	switch {
	case errors.Is(err, errManyRows):
		return refused(classTooLarge, doing, err)
	case !errors.As(err, &v):
		return refused(store.ClassOther, doing, err)
	}
	r := refused(store.ClassOther, doing, err)
	if r.Violated = v.Kind; v.Kind == store.Unique {
		r.Class = store.ClassDuplicate
	}
	return r
}
