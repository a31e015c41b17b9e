package script

import (
	"context"
	"errors"

	"assay/store"
	"assay/workload"
	"assay/workload/script/pgbench"
)

// sendable refuses scripts in pgbench's language if the database sends no text verbatim.
func (p *program) sendable(db store.Database) error {
	if p.defines == nil {
		return nil
	}
	of, is := store.As[store.Verbatims](db)
	if !is {
		return &Error{File: p.path, Reason: "this database sends no statements as a user wrote them", Advice: "write the script in Starlark"}
	}
	if reason := of.Refuses(p.protocol); reason != "" {
		return &store.OptionError{Option: "--protocol", Value: string(p.protocol), Reason: reason, Want: "another protocol, or a script in Starlark"}
	}
	if reason := of.Refuses(store.Pipeline); p.pipelines && reason != "" {
		return &Error{File: p.path, Reason: "\\startpipeline: " + reason, Advice: "leave it out with its \\endpipeline"}
	}
	return nil
}

// variablesOf are a client's first variables. As in pgbench, scale defaults to the number of
// branches.
func (w *Work) variablesOf(ctx context.Context, client int) *pgbench.Variables {
	variables := &pgbench.Variables{}
	w.scaleOnce.Do(func() { w.scale = w.branches(ctx) })
	variables.Set(pgbench.Scale, pgbench.Int(w.scale))
	variables.Set(pgbench.ClientID, pgbench.Int(int64(client)))
	variables.Set(pgbench.RandomSeed, pgbench.Int(int64(w.seed)))
	seeded := workload.NewRandom(w.seed, 0x736565645f6f66)
	variables.Set(pgbench.DefaultSeed, pgbench.Int(int64(seeded.Next()>>1)))
	for name, text := range w.program.defines {
		variables.SetText(name, text)
	}
	return variables
}

// branches counts pgbench_branches; 1 if there is no such table or no script uses it.
func (w *Work) branches(ctx context.Context) (n int64) {
	asked := false
	for i := range w.program.transactions {
		of := w.program.transactions[i].texts
		asked = asked || of != nil && of.scaled
	}
	if _, given := w.program.defines[pgbench.Scale]; !asked || given {
		return 1
	}
	err := look(ctx, w.Database.View, func(q Querier) error {
		return q.Query(ctx, Statement{Text: "SELECT count(*) FROM pgbench_branches", Reads: true}, func(row []any) error {
			if len(row) == 1 {
				n, _ = row[0].(int64)
			}
			return nil
		})
	})
	if err != nil || n < 1 {
		return 1
	}
	return n
}

// errTried ends the trial: what comes next could not be rolled back.
var errTried = errors.New("the rest of the script is not tried")

// tryTexts runs a script, up to a statement that may commit or makes tables, and rolls back.
func (w *Work) tryTexts(ctx context.Context, session Session, c *call) error {
	c.variables = w.variablesOf(ctx, c.client)
	reply := session.Texts(ctx, true, func(ctx context.Context, sender store.Sender) error {
		trial := &trialSender{Sender: sender}
		err := c.runTexts(ctx, trial)
		switch {
		case err != nil:
			return err
		case !trial.begun && sender.Status() != store.Idle:
			err = &Error{File: c.transaction.texts.path, Reason: "the script ends within a transaction", Advice: "write END; behind its last statement"}
		default:
			err = store.ErrRollback
		}
		c.end.Store(&err)
		return err
	})
	if errors.Is(c.ended(), errTried) {
		return ctx.Err()
	}
	return c.tried(ctx, reply)
}

// trialSender sends only what can be rolled back.
type trialSender struct {
	store.Sender
	// begun is true if the trial itself began a transaction, inside if the script did.
	wrote, begun, inside bool
}

func (t *trialSender) Send(ctx context.Context, texts ...store.UserText) ([]store.Result, error) {
	for i := range texts {
		text := &texts[i]
		// SAVEPOINT begins a transaction in SQLite, and its RELEASE commits it.
		if savepoint := t.Status() != store.Idle && !t.begun && !t.inside; savepoint && store.Releases(text) {
			return nil, errTried
		}
		switch text.Kind {
		case store.Anything, store.Defines, store.Commits, store.RollsBack:
			return nil, errTried
		case store.Begins:
			if t.wrote || len(texts) > 1 {
				return nil, errTried
			}
			t.inside = true
		case store.Writes:
			if t.wrote = true; t.Status() == store.Idle {
				t.begun = true
				if _, err := t.Sender.Send(ctx, store.UserText{Text: "BEGIN", Protocol: store.Simple, Kind: store.Begins}); err != nil {
					return nil, err
				}
			}
		}
	}
	return t.Sender.Send(ctx, texts...)
}
