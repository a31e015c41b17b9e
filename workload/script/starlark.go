package script

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// maxSteps bounds one call of a script's function to some seconds of work.
const maxSteps = 20_000_000

// parse reads a script. The error is an *Error.
func parse(file, text string, defines map[string]string, statements *statements) (*program, error) {
	p, err := declare(file, text, defines, statements)
	if err != nil {
		return nil, err
	}
	return p, p.finish()
}

// declare reads declarations, without checks across them.
func declare(file, text string, defines map[string]string, statements *statements) (*program, error) {
	d := &declarations{file: file, defines: defines, program: &program{path: file, expects: strings.Contains(text, "expect"), statements: statements, handle: handleMembers(), generators: generatorMembers()}}
	// No while, recursion or load, so every script ends.
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{Set: true, TopLevelControl: true}, newThread(), file, text, d.builtins())
	if err != nil {
		return nil, located(file, err)
	}
	globals.Freeze()
	if declared, is := globals["setup"]; is {
		fn, is := declared.(*starlark.Function)
		if !is || fn.NumParams() != 1 {
			return nil, &Error{File: file, Reason: "setup is no function of one parameter", Advice: "write def setup(db):"}
		}
		d.program.setup = func(s *setup) error {
			_, err := starlark.Call(newThread(), fn, starlark.Tuple{&object[*setup]{"db", s, setupMembers()}}, nil)
			return located(file, err)
		}
	}
	if unused := d.unused(); unused != "" {
		return nil, &Error{File: file, Reason: fmt.Sprintf("--define gives %s, and the script has no param(%q)", unused, unused)}
	}
	return d.program, nil
}

func newThread() *starlark.Thread {
	t := &starlark.Thread{Name: "script", Print: func(*starlark.Thread, string) {}}
	t.SetMaxExecutionSteps(maxSteps)
	t.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(tooManySteps) }
	return t
}

const tooManySteps = "a call takes too many steps"

// located adds the place in the script to an error.
func located(file string, err error) error {
	if err == nil {
		return nil
	}
	out := &Error{File: file, Reason: err.Error(), Err: err}
	var parsed syntax.Error
	var resolved resolve.ErrorList
	var raised *starlark.EvalError
	switch {
	case errors.As(err, &parsed):
		out.Line, out.Column, out.Reason = int(parsed.Pos.Line), int(parsed.Pos.Col), parsed.Msg
		out.Advice = "a script is written in Starlark, whose syntax is Python's"
	case errors.As(err, &resolved) && len(resolved) > 0:
		first := resolved[0]
		out.Line, out.Column, out.Reason = int(first.Pos.Line), int(first.Pos.Col), first.Msg
		if strings.HasPrefix(first.Msg, "undefined") {
			out.Advice = "docs/guides/my-transaction.md has the functions that assay defines"
		}
	case errors.As(err, &raised):
		at := position(raised.CallStack)
		out.Line, out.Column, out.Reason = int(at.Line), int(at.Col), raised.Msg
		if strings.Contains(raised.Msg, tooManySteps) {
			out.Advice = fmt.Sprintf("let it do less: %d steps are allowed", maxSteps)
		}
	}
	return out
}

// position is the innermost known place.
func position(stack starlark.CallStack) syntax.Position {
	for i := range stack {
		if pos := stack.At(i).Pos; pos.Line > 0 {
			return pos
		}
	}
	return syntax.Position{}
}

// runStarlark gives a *refusal, repeated, or an *Error that wraps the database's error.
func runStarlark(file string, run *starlark.Function, c *call) error {
	thread := newThread()
	stop := context.AfterFunc(c.ctx, func() { thread.Cancel("the time of the attempt is over") })
	defer stop()
	_, err := starlark.Call(thread, run, starlark.Tuple{&object[handle]{"tx", handle{c}, c.program.handle}, &object[generators]{"r", generators{c}, c.program.generators}}, nil)
	if err == nil {
		return nil
	}
	var refused *refusal
	if errors.As(err, &refused) {
		return refused
	}
	if errors.As(err, &repeated{}) {
		return repeated{}
	}
	if c.ctx.Err() != nil {
		return c.ctx.Err()
	}
	return located(file, err)
}
