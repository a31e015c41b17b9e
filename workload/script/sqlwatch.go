package script

import (
	"strconv"
	"time"

	"assay/internal/wait"
	"assay/store"
	"assay/workload"
	"assay/workload/script/pgbench"
)

// watched sends a statement, changed as the mend has it, and notes it for the look at what
// the isolation level makes of the transaction. A script that is not one transaction is
// noted as one that is not understood.
func (r *sqlRun) watched(text store.UserText, s *sqlStatement, of *pgbench.Statement) ([]store.Result, error) {
	c := r.call
	if c.watch == nil || s.kind == store.Begins || s.kind == store.Commits || r.shape == otherShape {
		return r.unwatched(text, s)
	}
	noted := Statement{Text: s.extended, Reads: s.kind == store.NoEffect, of: s.of}
	for _, p := range of.Parameters(r.variables) {
		if p == nil {
			noted.Parameters = append(noted.Parameters, nil)
			continue
		}
		noted.Parameters = append(noted.Parameters, plainOf(*p))
	}
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
	step := step{statement: sent, rows: -1, start: time.Since(c.watch.began)}
	results, err := r.sendTexts(text)
	if err != nil {
		return nil, err
	}
	step.end = time.Since(c.watch.began)
	if len(results) == 1 {
		step.rows = results[0].Rows
		if last := results[0].Last; len(last) == 1 && last[0] != nil {
			step.first = plainOf(*last[0])
		}
	}
	if len(c.steps) <= mostSteps {
		c.steps = append(c.steps, step)
	}
	return results, nil
}

// unwatched sends what begins or ends a transaction, or one of several.
func (r *sqlRun) unwatched(text store.UserText, s *sqlStatement) ([]store.Result, error) {
	c := r.call
	if c.watch != nil && r.shape == otherShape && len(c.steps) == 0 {
		c.steps = append(c.steps, step{statement: Statement{Text: s.extended}, rows: -1})
	}
	if s.kind == store.Commits {
		if err := r.pause(); err != nil {
			return nil, err
		}
		if c.watch != nil {
			c.worked.Store(int64(time.Since(c.watch.began)))
		}
	}
	results, err := r.sendTexts(text)
	if m := &r.program.mend; err == nil && s.kind == store.Begins && m.begins(r.name) {
		_, err = r.sendTexts(store.UserText{Text: m.First, Protocol: store.Simple, Kind: store.Anything})
	}
	return results, err
}

// pause is that before each statement of a transaction but the first.
func (r *sqlRun) pause() error {
	c := r.call
	if c.watch == nil || c.watch.pause == 0 || len(c.steps) == 0 {
		return nil
	}
	random := workload.NewRandom(c.watch.seed+1, uint64(c.client)<<42^c.seq+uint64(len(c.steps))<<56)
	return wait.Pause(r.ctx, time.Duration(random.Below(uint64(c.watch.pause))))
}

// asText is a statement in place of a text, with its parameters.
func (s *Statement) asText(of store.UserText) store.UserText {
	if of.Protocol == store.Simple {
		of.Protocol = store.Prepared
	}
	of.Text, of.At, of.Parameters = s.Text, nil, nil
	all, _ := wholeTokens(s.Text) // it was looked at before
	for _, t := range all {
		n, err := strconv.Atoi(t.text)
		if t.kind != parameter || err != nil || n < 1 || n > len(s.Parameters) {
			continue
		}
		of.At = append(of.At, t.start)
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
