package application

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"
)

// bounds are how long a command may take, and how long nothing may pass meanwhile.
type bounds struct{ limit, patience time.Duration }

// The bounds of what may take long without being hung, where the user has given none.
const (
	limitUntouched = time.Hour
	limitAside     = 10 * time.Minute
	// An application that waits and tries again takes longer at an event: by so many times what it takes
	// untouched, and at least so long.
	leastLimit = 5 * time.Minute
	timesLimit = 10
)

// bounds are those of the application's next run, at an event that keeps it from its work for so long.
func (t *trying) bounds(lasts time.Duration) bounds {
	b := bounds{cmp.Or(t.TimeLimit, limitUntouched), t.Patience}
	if t.base != nil {
		b.patience = max(t.Patience, 3*t.base.longest)
		b.limit = cmp.Or(t.TimeLimit, max(leastLimit, timesLimit*t.base.run.took)+b.patience)
	}
	return bounds{b.limit + lasts, b.patience + lasts}
}

// SlowError means that something that assay needs beside the application took too long.
type SlowError struct {
	What  string
	Limit time.Duration
	Err   error
}

func (e *SlowError) Error() string {
	return fmt.Sprintf("%s took longer than %s, and assay ended that: %s", e.What, e.Limit, slowAdvice)
}

func (e *SlowError) Unwrap() error { return e.Err }

const slowAdvice = "a lock may keep it. Look for prepared transactions (pg_prepared_xacts; XA RECOVER) and for open sessions (pg_stat_activity; SHOW PROCESSLIST), and end them, or give more by --time-limit"

// aside does something beside the application, which has a bound. The error may be a *SlowError.
func (p Plan) aside(ctx context.Context, what string, do func(context.Context) error) error {
	limit := cmp.Or(p.TimeLimit, limitAside)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := do(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return &SlowError{what, limit, err}
	}
	return err
}

// brokenRules looks at the invariants.
func (t *trying) brokenRules(ctx context.Context) (broken map[string]string, err error) {
	err = t.aside(ctx, "a look at the invariants", func(ctx context.Context) error {
		broken, err = t.Rules(ctx)
		return err
	})
	return broken, err
}

// reset has the user's command bring the database back.
func (t *trying) reset(ctx context.Context) error {
	if t.Reset == "" {
		return nil
	}
	plan := t.Plan
	plan.Command = []string{"sh", "-c", t.Reset}
	own := &trying{Plan: plan, proxy: t.proxy}
	end, err := own.execute(ctx, filepath.Join(t.Folder, "reset.log"), t.proxy.Record(nil), bounds{cmp.Or(t.TimeLimit, limitAside), math.MaxInt64})
	if err == nil && end.exit != 0 {
		err = &ResetError{Command: t.Reset, How: end.how(), Said: end.said, Slow: end.hung}
	}
	if err != nil {
		return err
	}
	settling, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	return t.proxy.Quiet(settling)
}

// ResetError means that the user's command to reset the database failed, or was too slow.
type ResetError struct {
	Command, How, Said string
	Slow               bool
}

func (e *ResetError) Error() string {
	if e.Said == "" {
		e.Said = "it printed nothing"
	}
	text := fmt.Sprintf("--reset %q %s: %s", redacted(e.Command), e.How, e.Said)
	if e.Slow {
		text += "; " + slowAdvice
	}
	return text
}
