package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"assay/history"
	"assay/load"
	"assay/store"
	"assay/workload/script/pgbench"
)

type client struct {
	store.Connection[Session]
	work   *Work
	number int
	values [2]int64
	// unsure is true if an earlier attempt of the operation ended unknown.
	unsure bool
	// variables are left by scripts in pgbench's language; nil before the first operation.
	variables *pgbench.Variables
}

var _ load.Client = (*client)(nil)

// kindOf is a transaction's history.Op.Kind. A commit's Values count its expectations and those
// that failed.
func kindOf(transaction int) uint8 { return uint8(transaction + 1) }

func (c *client) Attempt(ctx context.Context, seq uint64, attempt int) load.Answer {
	p := c.work.program
	random := randomOf(c.work.seed, c.number, seq)
	chosen := p.choose(&random)
	t := &p.transactions[chosen]
	if attempt == 1 {
		c.unsure = false
	}
	session, err := c.Session(ctx)
	if err != nil {
		unsent := store.Unsent(err)
		return unsent.Answer(kindOf(chosen))
	}
	call := newCall(p, t, random, c.number, seq)
	call.watch, call.attempt = c.work.watch, attempt
	if call.watch != nil {
		call.begun = time.Since(call.watch.began)
	}
	var reply store.Reply
	if t.texts != nil {
		call.variables = c.beginning(ctx)
		reply = session.Texts(ctx, !t.reads, call.runTexts)
	} else {
		reply = session.Transaction(ctx, !t.reads, call.run)
	}
	c.work.watch.done(call, chosen, reply.Outcome, time.Duration(call.worked.Load()))
	answer := reply.Answer(kindOf(chosen))
	answer.Rest = t.think
	switch failure := call.ended(); {
	case reply.Outcome == history.Committed:
		c.values = [2]int64{call.expected, call.unexpected}
		answer.Values = c.values[:]
		c.work.findings.add(CheckExpected, chosen, call.findings)
		if call.unexpected > 0 && c.work.watch != nil {
			c.work.watch.surprised(operation{c.number, seq})
		}
		if call.left != nil {
			c.variables = call.left
		}
	case failure != nil:
		c.failed(&answer, t, failure)
	case answer.Outcome == history.Failed && errors.As(reply.Err, new(*store.OpenError)):
		answer.Class = ClassScript
	}
	if answer.Outcome == history.Unknown {
		c.unsure = true
	}
	c.After(answer.Outcome, reply.Broken)
	return answer
}

func (c *client) beginning(ctx context.Context) *pgbench.Variables {
	if c.variables == nil {
		c.variables = c.work.variablesOf(ctx, c.number)
	}
	return c.variables
}

// failed records why a transaction was left; it had no effect.
func (c *client) failed(answer *load.Answer, t *transaction, failure error) {
	var refused *refusal
	var wrong *Error
	switch {
	case answer.Outcome != history.Failed: // and so it is not known
	case errors.As(failure, &refused):
		answer.Outcome, answer.Class = history.Rejected, c.work.reasons.class(refused.reason)
	case errors.As(failure, &repeated{}):
		if answer.Done = c.unsure; c.unsure {
			answer.Class = store.ClassMet
		} else {
			answer.Err = &Error{File: c.work.program.path, Reason: "done() was called in an attempt before which none ended unknown",
				Advice: "call it only where the operation's own row is there already"}
		}
	case errors.As(failure, &wrong) && !wrong.ofDatabase() && t.texts != nil:
		answer.Class = ClassScript // pgbench ends the client, and the others go on
	case errors.As(failure, &wrong) && !wrong.ofDatabase():
		answer.Class, answer.Err = ClassScript, wrong
	}
}

func (c *call) run(ctx context.Context, tx Transaction) error {
	c.ctx, c.tx = ctx, c.watching(tx)
	err := c.transaction.run(c)
	if c.watch != nil {
		c.worked.Store(int64(time.Since(c.watch.began)))
	}
	if refused := (*refusal)(nil); errors.As(err, &refused) || errors.As(err, &repeated{}) {
		err = errors.Join(store.ErrRollback, err)
	}
	if err != nil {
		c.end.Store(&err)
	}
	return err
}

// ended is the error of the work; nil if it had none or goes on.
func (c *call) ended() error {
	if err := c.end.Load(); err != nil {
		return *err
	}
	return nil
}

// reasons bounds the distinct reasons of refusals, which become classes.
type reasons struct {
	mu    sync.Mutex
	known map[string]bool
}

const maxReasons = 50

func (r *reasons) class(reason string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.known[reason] {
		if len(r.known) == maxReasons {
			return "another reason"
		}
		if r.known == nil {
			r.known = map[string]bool{}
		}
		r.known[reason] = true
	}
	return reason
}

type findings struct {
	mu   sync.Mutex
	all  []finding
	kept map[string]int // of each check
}

type finding struct {
	Check string `json:"check"`
	// Index is the number of the transaction or invariant.
	Index int    `json:"index"`
	Text  string `json:"text"`
}

const maxKept = 100

func (f *findings) add(check string, index int, texts []string) {
	if len(texts) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil {
		f.kept = map[string]int{}
	}
	for _, text := range texts[:min(len(texts), maxKept-f.kept[check])] {
		f.all = append(f.all, finding{check, index, text})
		f.kept[check]++
	}
}

func (w *Work) Found() ([]byte, error) { return json.Marshal(w.findings.list()) }

func (w *Work) TakeFound(text []byte) error {
	var all []finding
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("script: what another process has found: %w", err)
	}
	for _, f := range all {
		w.findings.add(f.Check, f.Index, []string{f.Text})
	}
	return nil
}

func (f *findings) list() []finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.all)
}
