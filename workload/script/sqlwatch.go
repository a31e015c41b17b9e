package script

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"assay/internal/wait"
	"assay/store"
	"assay/workload"
	"assay/workload/script/access"
	"assay/workload/script/pgbench"
)

// piped is a statement of a pipeline, not sent yet.
type piped struct {
	kind store.TextKind
	step step
}

// watched sends a statement and notes it for the analysis of its transaction.
func (r *sqlRun) watched(text store.UserText, s *sqlStatement, of *pgbench.Command) ([]store.Result, error) {
	switch {
	case s.kind == store.Begins:
		return r.begin(text, of)
	case r.call.watch == nil:
		return r.sendTexts(text)
	case s.kind == store.Commits || s.kind == store.RollsBack:
		return r.end(text, s.kind, of)
	}
	return r.rows(text, s, of)
}

func (r *sqlRun) statement(s *sqlStatement, of *pgbench.Statement) Statement {
	noted := Statement{Text: s.extended, Reads: s.kind == store.NoEffect, of: s.of}
	for _, p := range of.Parameters(r.variables) {
		if p == nil {
			noted.Parameters = append(noted.Parameters, nil)
			continue
		}
		noted.Parameters = append(noted.Parameters, plainOf(*p))
	}
	return noted
}

// opened notes where a transaction begins, in a script of several.
func (r *sqlRun) opened(line int) {
	if p := &r.call.part; r.several && p.line == 0 {
		p.line = line
	}
}

// unclear notes why the open transaction is not understood.
func (r *sqlRun) unclear(why string, line int) {
	if p := &r.call.part; p.unclear == "" {
		p.unclear = fmt.Sprintf("what %s does is not understood: %s (%s, line %d)", r.name, why, filepath.Base(r.path), line)
	}
}

// rows sends a statement other than BEGIN, COMMIT and ROLLBACK, after the mend.
func (r *sqlRun) rows(text store.UserText, s *sqlStatement, of *pgbench.Command) ([]store.Result, error) {
	c := r.call
	noted := r.statement(s, of.Statement)
	if err := r.pause(); err != nil {
		return nil, err
	}
	sent, err := c.mended(noted)
	if err != nil {
		return nil, err
	}
	if sent.Text != noted.Text {
		text = sent.asText(text)
	}
	r.opened(of.Line)
	alone := r.sender.Status() == store.Idle
	step := step{statement: sent, rows: -1, start: time.Since(c.watch.began), line: of.Line}
	c.commit = step.start // it may be its own COMMIT
	results, err := r.sendTexts(text)
	if err != nil {
		if alone {
			c.add(step) // it may have been done
		}
		return nil, err
	}
	step.end = time.Since(c.watch.began)
	if len(results) == 1 {
		step.rows = results[0].Rows
		if last := results[0].Last; len(last) == 1 && last[0] != nil {
			step.first = plainOf(*last[0])
			step.answer = [][]any{{step.first}}
		}
	}
	c.add(step)
	if r.sender.Status() == store.Idle {
		c.alone = alone
		c.close()
	}
	return results, nil
}

func (r *sqlRun) begin(text store.UserText, of *pgbench.Command) ([]store.Result, error) {
	within := r.sender.Status() != store.Idle
	results, err := r.sendTexts(text)
	if err != nil || r.call.watch == nil {
		return results, err
	}
	r.opened(of.Line)
	r.lookAtBegin(within, text.Text, of.Line)
	if m := &r.program.mend; m.begins(partName(r.name, r.call.line)) {
		_, err = r.sendTexts(store.UserText{Text: m.First, Protocol: store.Simple, Kind: store.Anything})
	}
	return results, err
}

func (r *sqlRun) lookAtBegin(within bool, text string, line int) {
	if within {
		r.unclear("BEGIN within a transaction", line)
	}
	if strings.Contains(strings.ToLower(text), "isolation") {
		r.unclear("BEGIN sets the isolation level itself", line)
	}
}

// end sends COMMIT or ROLLBACK. It drops a rolled back transaction, which had no effect.
func (r *sqlRun) end(text store.UserText, kind store.TextKind, of *pgbench.Command) ([]store.Result, error) {
	c := r.call
	if err := r.pause(); err != nil {
		return nil, err
	}
	c.commit = time.Since(c.watch.began)
	results, err := r.sendTexts(text)
	if err != nil {
		return nil, err
	}
	r.over(kind, of.Line)
	return results, nil
}

func (r *sqlRun) over(kind store.TextKind, line int) {
	if kind == store.RollsBack {
		r.call.part = part{}
	} else {
		r.call.close()
	}
	if !r.piping && r.sender.Status() != store.Idle {
		r.opened(line)
		r.unclear("the statement begins another transaction, as by AND CHAIN", line)
	}
}

// sendPiped sends the statements between two bounds of a pipeline, without BEGIN one transaction
// (PostgreSQL manual, "Pipeline Mode"). If it fails, a COMMIT in it may have been done, so what
// precedes counts as committed: more transactions make the analysis only more careful.
func (r *sqlRun) sendPiped() error {
	c := r.call
	if c.watch == nil {
		_, err := r.sendTexts(r.piped...)
		return err
	}
	within, start := r.sender.Status() != store.Idle, time.Since(c.watch.began)
	_, err := r.sendTexts(r.piped...)
	for i, of := range r.noted {
		r.opened(of.step.line)
		c.fixed, c.commit = true, start
		switch of.kind {
		case store.Begins:
			r.lookAtBegin(within, r.piped[i].Text, of.step.line)
			within = true
		case store.Commits, store.RollsBack:
			if strings.Contains(strings.ToLower(r.piped[i].Text), "chain") {
				r.unclear("the statement begins another transaction, as by AND CHAIN", of.step.line)
			}
			r.over(of.kind, of.step.line)
			within = false
		default:
			of.step.start, of.step.end = start, time.Since(c.watch.began)
			c.add(of.step)
		}
	}
	if err == nil && r.sender.Status() == store.Idle {
		c.close()
	}
	return err
}

// pause precedes each statement of a transaction except the first.
func (r *sqlRun) pause() error {
	c := r.call
	if c.watch.pause == 0 || len(c.steps) == 0 {
		return nil
	}
	random := workload.NewRandom(c.watch.seed+1, uint64(c.client)<<42^c.seq+uint64(len(c.steps))<<56+uint64(len(c.past))<<50)
	return wait.Pause(r.ctx, time.Duration(random.Below(uint64(c.watch.pause))))
}

// asText puts a statement with its parameters in place of a text.
func (s *Statement) asText(of store.UserText) store.UserText {
	if of.Protocol == store.Simple {
		of.Protocol = store.Prepared
	}
	of.Text, of.At, of.Parameters = s.Text, nil, nil
	all, _ := wholeTokens(s.Text) // it was looked at before
	for _, t := range all {
		n, err := strconv.Atoi(t.Text)
		if t.Kind != access.Parameter || err != nil || n < 1 || n > len(s.Parameters) {
			continue
		}
		of.At = append(of.At, t.Start)
		if v := s.Parameters[n-1]; v == nil {
			of.Parameters = append(of.Parameters, nil)
		} else {
			text := show(v)
			if plain, is := v.(string); is {
				text = plain
			}
			of.Parameters = append(of.Parameters, &text)
		}
	}
	return of
}
