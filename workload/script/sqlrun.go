package script

import (
	"context"
	"errors"
	"fmt"
	"time"

	"assay/internal/wait"
	"assay/store"
	"assay/workload/script/pgbench"
)

// operationID is a variable of assay's own with the operation's identifier.
const operationID = "operation_id"

// sqlRun is one run of a script in pgbench's language.
type sqlRun struct {
	*sqlFile
	call      *call
	ctx       context.Context
	sender    store.Sender
	variables *pgbench.Variables
	scope     pgbench.Scope
	piping    bool
	piped     []store.UserText
	// noted describe piped, for the analysis.
	noted []piped
}

// runTexts runs the script. It can be repeated: it always begins with the call's variables.
func (c *call) runTexts(ctx context.Context, sender store.Sender) error {
	f := c.transaction.texts
	random := c.random
	c.part = part{}
	r := &sqlRun{sqlFile: f, call: c, ctx: ctx, sender: sender, variables: c.variables.Clone()}
	r.variables.Set(operationID, pgbench.Int(firstID(c.client, c.seq)))
	r.scope = pgbench.Scope{Variables: r.variables, Random: &random}
	err := r.run()
	if err == nil {
		c.left = r.variables
	} else {
		c.end.Store(&err)
	}
	return err
}

func (r *sqlRun) run() error {
	for next := 0; next < len(r.script.Commands); {
		of := &r.script.Commands[next]
		to, err := r.do(next, of)
		if err != nil {
			return r.wrong(of, err)
		}
		next = to
	}
	if r.piping {
		return &Error{File: r.path, Reason: "the script ends within a pipeline", Advice: "write \\endpipeline"}
	}
	return nil
}

// do does a command and returns the next one.
func (r *sqlRun) do(at int, of *pgbench.Command) (next int, err error) {
	next = at + 1
	switch of.Kind {
	case pgbench.SQL:
		err = r.send(&r.sends[at], of)
	case pgbench.Set:
		var v pgbench.Value
		if v, err = of.Expression.Evaluate(&r.scope); err == nil {
			r.variables.Set(of.Variable, v)
		}
	case pgbench.Branch:
		var v pgbench.Value
		if v, err = of.Expression.Evaluate(&r.scope); !v.Truth() {
			next = of.Target
		}
	case pgbench.Jump:
		next = of.Target
	case pgbench.Sleep:
		var pause time.Duration
		if pause, err = of.Pause.Duration(r.variables); err == nil {
			err = wait.Pause(r.ctx, pause)
		}
	default:
		err = r.pipeline(of.Kind)
	}
	return next, err
}

// pipeline begins, continues or ends a pipeline. At each further bound it sends the statements
// since the last bound, and awaits their answers.
func (r *sqlRun) pipeline(kind pgbench.Kind) (err error) {
	switch {
	case kind == pgbench.StartPipeline && r.piping:
		return errors.New("a pipeline is open already")
	case kind != pgbench.StartPipeline && !r.piping:
		return errors.New("no pipeline is open: write \\startpipeline before")
	}
	if len(r.piped) > 0 {
		err = r.sendPiped()
	}
	r.piping, r.piped, r.noted = kind != pgbench.EndPipeline, r.piped[:0], r.noted[:0]
	return err
}

func (r *sqlRun) sendTexts(texts ...store.UserText) ([]store.Result, error) {
	results, err := r.sender.Send(r.ctx, texts...)
	if err != nil {
		err = &databaseError{err}
	}
	return results, err
}

// send sends a statement and keeps what \gset and \aset ask for.
func (r *sqlRun) send(s *sqlStatement, command *pgbench.Command) error {
	of := command.Statement
	text := store.UserText{Protocol: r.program.protocol, Kind: s.kind, Joined: len(of.Parts) > 1, Keep: of.End != pgbench.Semicolon}
	if text.Protocol == store.Simple {
		text.Text = of.Simple(r.variables)
	} else {
		text.Text, text.At, text.Parameters = s.extended, s.at, of.Parameters(r.variables)
	}
	if r.piping {
		if text.Keep {
			return errors.New("\\gset and \\aset cannot be in a pipeline, whose answers come at its end")
		}
		r.piped = append(r.piped, text)
		if r.call.watch != nil {
			r.noted = append(r.noted, piped{s.kind, step{statement: r.statement(s, of), rows: -1, line: command.Line}})
		}
		return nil
	}
	results, err := r.watched(text, s, command)
	if err != nil || !text.Keep {
		return err
	}
	for i, result := range results {
		last := i == len(results)-1
		switch {
		case of.End == pgbench.Gset && last && len(result.Columns) == 0:
			return errors.New("\\gset wants one row, and the statement gives none")
		case of.End == pgbench.Gset && last && result.Rows != 1:
			return fmt.Errorf("\\gset wants one row, and %d came", result.Rows)
		case of.End == pgbench.Aset || last:
			r.keep(of.Prefix, result)
		}
	}
	return nil
}

func (r *sqlRun) keep(prefix string, result store.Result) {
	for i, value := range result.Last {
		text := ""
		if value != nil {
			text = *value
		}
		r.variables.SetText(prefix+result.Columns[i], text)
	}
}
