package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/check"
	"assay/load"
	"assay/store"
)

const (
	serialMost = 200
	serialTime = time.Second
)

// serial tries a script alone: one transaction after another, inside one that is rolled back.
// Isolation cannot cause what breaks there.
type serial struct {
	work *Work
	seq  uint64
	// until ends the trial, after each transaction's first turn.
	until time.Time
	// done counts the current pass's transactions; kept counts those of passes that kept the
	// rules.
	done []int64
	kept int64
	// sent are the current transaction's statements; wrote is true if one changes something.
	sent  []string
	wrote bool
	// untried is true if a script does something that cannot be rolled back.
	untried bool
	// altering names what changes existing tables beside the script, such as triggers; may be
	// empty.
	altering string
}

type asking func(ctx context.Context, s Statement) (answer, error)

// alone tries the script with one client. Breaking its own rules is an *Error.
func (w *Work) alone(ctx context.Context) error {
	p := w.program
	product, err := w.Describe(ctx)
	if err != nil || len(p.invariants)+len(p.counts)+len(p.lists) == 0 && !p.expects || slices.ContainsFunc(product.Settings, func(s store.Setting) bool { return s.Name == store.SettingBugs }) {
		return err
	}
	t := &serial{work: w, until: time.Now().Add(serialTime)}
	for _, s := range product.Settings {
		if s.Name == store.SettingAltering {
			t.altering = "; or this changes what it reads and writes: " + s.Value
		}
	}
	for t.goesOn() && !t.untried {
		before := t.seq
		if err := t.pass(ctx); err != nil {
			return err
		}
		if t.seq == before {
			break
		}
	}
	if !t.untried {
		w.kept = t.kept
	}
	return nil
}

func (t *serial) goesOn() bool {
	return t.seq < serialMost && (t.seq < uint64(len(t.work.program.transactions)) || time.Now().Before(t.until))
}

// errPassed ends a pass whose last transaction cannot be followed by another.
var errPassed = errors.New("the rest is tried anew")

// pass tries transactions until one is refused after writing.
func (t *serial) pass(ctx context.Context) error {
	session, err := t.work.open(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	t.done = make([]int64, len(t.work.program.transactions))
	var wrong *Error
	ended := func(err error) error {
		if found := (*Error)(nil); errors.As(err, &found) && found.Err == errAlone {
			wrong = found
		}
		return store.ErrRollback
	}
	if t.work.program.defines != nil {
		session.Texts(ctx, true, func(ctx context.Context, sender store.Sender) error { return ended(t.texts(ctx, sender)) })
	} else {
		session.Transaction(ctx, true, func(ctx context.Context, tx Transaction) error {
			noted := &serialTransaction{tx, t}
			return ended(t.series(ctx, func(ctx context.Context, s Statement) (answer, error) { return ask(ctx, tx, s) },
				func(c *call) error { return c.run(ctx, noted) }))
		})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if wrong != nil {
		return wrong
	}
	return nil
}

// series does transactions and checks the rules after each.
func (t *serial) series(ctx context.Context, ask asking, do func(*call) error) error {
	p := t.work.program
	before, err := t.rules(ctx, ask)
	if err != nil {
		return err
	}
	for t.goesOn() && ctx.Err() == nil {
		random := randomOf(t.work.seed, load.MaxClients, t.seq)
		chosen := p.choose(&random)
		if t.seq < uint64(len(p.transactions)) {
			chosen = int(t.seq)
		}
		c := newCall(p, &p.transactions[chosen], random, load.MaxClients, t.seq)
		t.seq++
		t.sent, t.wrote = nil, false
		err := do(c)
		var broken *Error
		switch {
		case err == nil:
		case errors.As(err, &broken) && broken.Err == errAlone:
			return broken
		case errors.Is(err, store.ErrRollback) && !t.wrote:
			continue
		default:
			return errPassed
		}
		if c.unexpected > 0 {
			return t.wrong(c.transaction, "its own expectation", "", strings.Join(c.findings, "; "))
		}
		t.done[chosen]++
		after, err := t.rules(ctx, ask)
		if err != nil {
			return err
		}
		for i, r := range after {
			if r.wrong && !before[i].wrong {
				return t.wrong(c.transaction, r.name, before[i].shown, r.shown)
			}
		}
		before = after
		t.kept++
	}
	return nil
}

// errAlone marks an Error of the trial.
var errAlone = errors.New("broken by one client alone")

func (t *serial) wrong(of *transaction, rule, before, after string) error {
	was := ""
	if before != "" {
		was = "before it " + before + ", "
	}
	return &Error{File: t.work.program.pathOf(of), Err: errAlone,
		Reason: fmt.Sprintf("transaction %q breaks %s with one client alone: %safter it %s; it sent %s", of.name, rule, was, after, strings.Join(t.sent, ", ")),
		Advice: "no isolation level mends that: correct the transaction, or the rule" + t.altering}
}

type ruled struct {
	name, shown string
	wrong       bool
}

func (t *serial) rules(ctx context.Context, ask asking) (all []ruled, err error) {
	p := t.work.program
	for i := range p.invariants {
		a, err := ask(ctx, p.invariants[i].query)
		if err != nil {
			return nil, err
		}
		all = append(all, ruled{"invariant " + strconv.Quote(p.invariants[i].name), a.String(), p.invariants[i].judge(a) != ""})
	}
	for i := range p.counts {
		c := &p.counts[i]
		a, err := ask(ctx, c.query)
		if err != nil {
			return nil, err
		}
		kind, _ := p.kind(c.transaction)
		v, counted := a.value()
		all = append(all, ruled{"counted " + strconv.Quote(c.name), a.String() + " where " + check.Count(c.start+c.each*t.done[kind]) + " must be",
			counted && compareInts(v, c.start+c.each*t.done[kind]) != 0})
	}
	for i := range p.lists {
		l := &p.lists[i]
		a, err := ask(ctx, l.query)
		if err != nil {
			return nil, err
		}
		kind, _ := p.kind(l.transaction)
		all = append(all, ruled{"listed " + strconv.Quote(l.name), fmt.Sprintf("%d rows where %d must be", a.Count, l.each*t.done[kind]), a.Count != l.each*t.done[kind]})
	}
	return all, nil
}

// String shows an answer's first rows.
func (a answer) String() string {
	if v, single := a.value(); single {
		return show(v)
	}
	var rows []string
	for _, row := range a.Rows[:min(3, len(a.Rows))] {
		rows = append(rows, showRow(row))
	}
	return check.Counted(a.Count, "row", "rows") + " " + strings.Join(rows, ", ")
}

type serialTransaction struct {
	Transaction
	of *serial
}

func (x *serialTransaction) Query(ctx context.Context, s Statement, row func([]any) error) error {
	x.of.note(s.with(), !s.Reads)
	return x.Transaction.Query(ctx, s, row)
}

func (x *serialTransaction) Execute(ctx context.Context, s Statement) (int64, error) {
	x.of.note(s.with(), true)
	return x.Transaction.Execute(ctx, s)
}

func (s Statement) with() string {
	text := s.String()
	if len(s.Parameters) > 0 {
		text += " " + showRow(s.Parameters)
	}
	return text
}

const mostShown = 12

func (t *serial) note(text string, writes bool) {
	t.wrote = t.wrote || writes
	if len(t.sent) < mostShown {
		t.sent = append(t.sent, text)
	}
}
