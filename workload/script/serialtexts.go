package script

import (
	"context"
	"errors"
	"strconv"

	"assay/load"
	"assay/store"
)

// texts tries scripts in pgbench's language without their BEGIN and COMMIT. It also checks the
// rules after each statement outside these.
func (t *serial) texts(ctx context.Context, sender store.Sender) error {
	if _, err := sender.Send(ctx, store.UserText{Text: "BEGIN", Protocol: store.Simple, Kind: store.Begins}); err != nil {
		return err
	}
	asks := func(ctx context.Context, s Statement) (answer, error) { return askText(ctx, sender, s) }
	return t.series(ctx, asks, func(c *call) error {
		c.variables = t.work.variablesOf(ctx, load.MaxClients)
		of := &serialSender{Sender: sender, of: t, call: c, asks: asks}
		err := c.runTexts(ctx, of)
		if of.broken != nil {
			return of.broken
		}
		return err
	})
}

// askText reads numbers from the texts of the last row.
func askText(ctx context.Context, sender store.Sender, s Statement) (a answer, err error) {
	results, err := sender.Send(ctx, store.UserText{Text: s.Text, Protocol: store.Simple, Kind: store.NoEffect, Keep: true})
	if err != nil || len(results) == 0 {
		return a, errors.Join(err, errPassedWithout(results))
	}
	last := results[len(results)-1]
	a.Count = last.Rows
	if last.Rows == 0 {
		return a, nil
	}
	row := make([]any, len(last.Last))
	for i, text := range last.Last {
		if text == nil {
			continue
		}
		row[i] = *text
		if n, err := strconv.ParseInt(*text, 10, 64); err == nil {
			row[i] = n
		} else if f, err := strconv.ParseFloat(*text, 64); err == nil {
			row[i] = f
		} else if *text == "t" || *text == "f" { // PostgreSQL's booleans
			row[i] = *text == "t"
		}
	}
	a.Rows = [][]any{row}
	return a, nil
}

func errPassedWithout(results []store.Result) error {
	if len(results) == 0 {
		return errPassed
	}
	return nil
}

// serialSender sends only what can be rolled back.
type serialSender struct {
	store.Sender
	of   *serial
	call *call
	asks asking
	// inside is true between BEGIN and COMMIT.
	inside bool
	broken error
}

func (s *serialSender) Status() store.Status {
	if s.inside {
		return store.Open
	}
	return store.Idle
}

func (s *serialSender) Send(ctx context.Context, texts ...store.UserText) ([]store.Result, error) {
	text := texts[0]
	untried := len(texts) > 1 || text.Kind == store.Anything || text.Kind == store.Defines
	if untried || text.Kind == store.RollsBack && s.of.wrote {
		s.of.untried = s.of.untried || untried
		return nil, errTried
	}
	if text.Kind == store.NoEffect || text.Kind == store.Writes {
		return s.sendOne(ctx, text)
	}
	s.inside = text.Kind == store.Begins
	return []store.Result{{}}, nil
}

// sendOne sends a statement. Outside BEGIN and COMMIT the rules must hold after it.
func (s *serialSender) sendOne(ctx context.Context, text store.UserText) ([]store.Result, error) {
	alone := text.Kind == store.Writes && !s.inside
	var before []ruled
	var err error
	if alone {
		if before, err = s.of.rules(ctx, s.asks); err != nil {
			return nil, err
		}
	}
	s.of.note(Statement{Text: text.Text}.String(), text.Kind == store.Writes)
	results, err := s.Sender.Send(ctx, text)
	if err != nil || !alone {
		return results, err
	}
	after, err := s.of.rules(ctx, s.asks)
	for i := 0; err == nil && i < len(s.of.work.program.invariants); i++ {
		if after[i].wrong && !before[i].wrong && !s.of.work.program.invariants[i].atEnd {
			s.broken = s.of.wrong(s.call.transaction, after[i].name+" outside of BEGIN and COMMIT", before[i].shown, after[i].shown)
			return nil, s.broken
		}
	}
	return results, err
}
