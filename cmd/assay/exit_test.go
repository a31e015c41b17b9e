package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"assay/check"
	"assay/internal/expect"
	"assay/measure"
	"assay/report"
	"assay/report/compare"
	"assay/runner"
	"assay/runner/advise"
	"assay/runner/powercuts"
	"assay/workload/interleaving"
)

// TestNoErrorTakesAResultAway: what stands beside a shown result is printed, and the code is the
// graver one.
func TestNoErrorTakesAResultAway(t *testing.T) {
	t.Parallel()
	full, usage := errors.New("no room for the file"), usageError{errors.New("no folder ci")}
	for _, c := range []struct {
		err  error
		want int
		says string
	}{
		{resultError{exitViolated}, exitViolated, ""},
		{errors.Join(resultError{exitViolated}, full), exitViolated, "assay: no room for the file\n"},
		{errors.Join(usage, resultError{exitViolated}), exitViolated, "assay: no folder ci\n"},
		{errors.Join(errors.Join(full, resultError{exitViolated}), errors.Join(usage)), exitViolated, "assay: no room for the file\nno folder ci\n"},
		{errors.Join(resultError{exitNoVerdict}, full), exitCannotRun, "assay: no room for the file\n"},
		{errors.Join(resultError{exitThreshold}, resultError{exitViolated}, usage), exitViolated, "assay: no folder ci\n"},
		{errors.Join(resultError{exitThreshold}, usage), exitThreshold, "assay: no folder ci\n"},
		{errors.Join(full, usage), exitUsage, "assay: no room for the file\nno folder ci\n"},
		{unfinished(fmt.Errorf("try: %w", context.Canceled)), exitNoVerdict, "assay: try: interrupted\n"},
		{errors.Join(unfinished(context.Canceled), exitError(exitViolated)), exitViolated, "assay: interrupted\n"},
		{exitError(exitValid), exitValid, ""},
	} {
		var said bytes.Buffer
		if code := exitCode(c.err, &said); code != c.want || said.String() != c.says {
			t.Errorf("%v: exit %d, %q; want %d, %q", c.err, code, said.String(), c.want, c.says)
		}
	}
}

// TestUnwrittenFileKeepsTheCode: a violation stays one if its test report or its summary cannot be
// written.
func TestUnwrittenFileKeepsTheCode(t *testing.T) {
	t.Parallel()
	gone := filepath.Join(t.TempDir(), "gone", "file")
	for _, f := range []pipelineFlags{{junit: gone}, {summary: gone}, {summary: gone, appends: true}} {
		var out, said bytes.Buffer
		err := f.finish(&out, ofTrials("postgres:1", []powercuts.Trial{{Verdict: "violated"}}), exitError(exitViolated))
		if code := exitCode(err, &said); code != exitViolated {
			t.Errorf("%+v ends with %d", f, code)
		}
		expect.Text(t, "the error", said.String(), "cannot write "+gone)
	}
}

// TestExitOfSeriesKeepsItsOrder has a run that could not be made come right after a violation.
func TestExitOfSeriesKeepsItsOrder(t *testing.T) {
	t.Parallel()
	ended := func(code int) report.SeriesRun {
		return report.SeriesRun{State: report.StateDone, Exit: &report.Exit{Code: code}}
	}
	all := []report.SeriesRun{ended(exitValid), ended(exitThreshold), ended(exitNoVerdict), {State: report.StateFailed}, ended(exitViolated)}
	for i, want := range []int{exitValid, exitThreshold, exitNoVerdict, exitCannotRun, exitViolated} {
		if code := exitOfSeries(&report.RunSeries{Runs: all[:i+1]}, nil); code != want {
			t.Errorf("%d runs end with %d, want %d", i+1, code, want)
		}
	}
}

// interrupting runs a command in this process, and interrupts it once it has said text on standard
// error.
func interrupting(t *testing.T, text string, args ...string) ended {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout bytes.Buffer
	stderr := &listener{text: text, act: cancel}
	code := run(ctx, args, &stdout, stderr)
	if ctx.Err() == nil {
		t.Fatalf("it never said %q: %s", text, stderr.String())
	}
	return ended{args: args, code: code, stdout: stdout.String(), stderr: stderr.String()}
}

type listener struct {
	buffer
	text string
	act  func()
}

func (l *listener) Write(p []byte) (int, error) {
	n, err := l.buffer.Write(p)
	if strings.Contains(l.String(), l.text) {
		l.act()
	}
	return n, err
}

// TestInterruptedSeries is told as far as it came: a violation stays one, and what is printed as
// JSON has its page, too.
func TestInterruptedSeries(t *testing.T) {
	t.Parallel()
	for bug, want := range map[string]int{"?bug=lost-ack:0.5": exitViolated, "": exitNoVerdict} {
		folder := filepath.Join(t.TempDir(), "series")
		args := []string{"run", "bank", "--db", "mem://" + bug, "--ops", "100", "--accounts", "100", "--repeat", "3", "--seed", "1", "--out", folder}
		e := interrupting(t, "run 2 of 3", append(args, "--json")...).want(t, want)
		var s report.RunSeries
		expect.NoError(t, json.Unmarshal([]byte(e.stdout), &s))
		if s.Runs[0].State != report.StateDone || s.Runs[2].State != report.StateWaiting {
			t.Errorf("%q: the runs are %+v", bug, s.Runs)
		}
		expect.Text(t, "standard error", e.stderr, "interrupted; the same command with --out ")
		if readFile(t, folder, "report.html") == "" {
			t.Errorf("%q: the page is empty", bug)
		}
	}
	before := interrupting(t, "run 1 of 3", "run", "bank", "--db", "mem://", "--accounts", "100", "--duration", "1h", "--repeat", "3", "--out", filepath.Join(t.TempDir(), "series")).want(t, exitNoVerdict)
	expect.Text(t, "before a run has a result", before.stdout, "3 of 3 runs were not made")
}

// TestInterruptedSearch has a sweep end while it searches a rate: the series is shown, and what is
// not known is said.
func TestInterruptedSearch(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "sweep")
	e := interrupting(t, "/s: ", "sweep", "bank", "--db", "mem://", "--ops", "60", "--accounts", "100", "--clients", "1,2", "--slo", "max<1h", "--seed", "1", "--out", folder).want(t, exitNoVerdict)
	expect.Text(t, "the output", unwrapped(e.stdout), "not answered: objective max<1h: the search for a rate ended after 1 run: it was interrupted")
	expect.Text(t, "standard error", e.stderr, "interrupted; the same command with --out ")
	var saved savedSweep
	expect.NoError(t, json.Unmarshal([]byte(readFile(t, folder, "sweep.json")), &saved))
	if !saved.Unanswered || saved.Ended == "" || len(saved.Tries) != 1 {
		t.Errorf("sweep.json has %+v", saved)
	}
	readFile(t, folder, "report.html")
}

// TestAnInterruptedSweepWithoutARunIsTold: nothing has a result, and that is said, also as JSON.
func TestAnInterruptedSweepWithoutARunIsTold(t *testing.T) {
	t.Parallel()
	args := []string{"sweep", "bank", "--db", "mem://", "--accounts", "100", "--duration", "1h", "--clients", "1,2", "--slo", "max<1h"}
	e := interrupting(t, "run 1 of 2", append(args, "--out", filepath.Join(t.TempDir(), "sweep"))...).want(t, exitNoVerdict)
	expect.Text(t, "the output", e.stdout, "2 of 2 runs were not made")
	e = interrupting(t, "run 1 of 2", append(args, "--json", "--out", filepath.Join(t.TempDir(), "sweep"))...).want(t, exitNoVerdict)
	var saved savedSweep
	expect.NoError(t, json.Unmarshal([]byte(e.stdout), &saved))
	if saved.Ended != interruptedSweep || !saved.Unanswered {
		t.Errorf("the JSON says %+v", saved)
	}
}

// TestAnInterruptionHidesNothing that could not be ended.
func TestAnInterruptionHidesNothing(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	cut := &runner.InterruptedError{During: "loading", Left: "it is gone", Err: errors.New("killed")}
	err := endedSeries(errors.Join(errors.Join(context.Canceled, errors.Join(cut, errors.New("n2 could not be stopped"))), nil))
	if code := exitCode(err, &said); code != exitCannotRun || said.String() != "assay: n2 could not be stopped\n" {
		t.Errorf("exit %d: %s", code, &said)
	}
	if code := exitCode(endedSeries(errors.Join(context.Canceled, cut)), &said); code != exitNoVerdict {
		t.Errorf("exit %d", code)
	}
}

// replacing makes a file a folder, so that it cannot be written, once text was said.
func replacing(t *testing.T, text string, path func() string, args ...string) ended {
	t.Helper()
	var once sync.Once
	var stdout bytes.Buffer
	stderr := &listener{text: text, act: func() {
		once.Do(func() {
			at := path()
			if err := errors.Join(os.RemoveAll(at), os.Mkdir(at, 0o755)); err != nil {
				t.Error(err)
			}
		})
	}}
	code := run(t.Context(), args, &stdout, stderr)
	return ended{args: args, code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// TestAnUnwrittenResultKeepsItsCode: a violation stays one if its result or its page cannot be
// written, which is told.
func TestAnUnwrittenResultKeepsItsCode(t *testing.T) {
	t.Parallel()
	for _, file := range []string{report.FileResult, "report.html"} {
		folder := filepath.Join(t.TempDir(), "run")
		e := replacing(t, "reading everything back", func() string { return filepath.Join(folder, file) },
			"run", "bank", "--db", "mem://?bug=lost-update:0.5", "--ops", "200", "--clients", "8", "--accounts", "5", "--out", folder).want(t, exitViolated)
		expect.Text(t, "standard error", e.stderr, file)
		expect.Text(t, "the output", e.stdout, "VIOLATED")
	}
}

// TestQuietSweep prints one line.
func TestQuietSweep(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	f := &sweepFlags{objective: "p99<1ms", runFlags: runFlags{quiet: true}}
	err := f.show(cmd, &report.RunSeries{Workload: "bank", Runs: make([]report.SeriesRun, 2)}, &compare.Sweep{Workload: "bank", Objective: f.objective, Rate: 90, Tried: 4}, nil, t.TempDir())
	expect.NoError(t, err)
	if text := out.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "exit 0; objective p99<1ms is kept at 90.0 arrivals") {
		t.Errorf("it prints %q", text)
	}
}

// TestDoubtfulRates: a run with unserved arrivals answers, unless the tester was too slow.
func TestDoubtfulRates(t *testing.T) {
	t.Parallel()
	for reason, doubted := range map[string]bool{
		"schedule slipped: of 100 arrivals 40 were never served": false, "client saturated: it used 99 % of its processors": true,
		"machine busy: other processes used 70 % of its processors": true,
	} {
		r := &report.Result{Verdict: check.Valid, Thresholds: []report.Threshold{{Text: "p99<1ms", Kept: true}}, Measurement: report.Measurement{Verdict: string(measure.Invalid), Reasons: []string{reason}}}
		r.Load.Unserved = 40
		if got := doubtful(r); got != doubted {
			t.Errorf("%s: %v", reason, got)
		}
	}
}

// TestALaterErrorTakesNoViolationAway from a matrix or an advice, which are then shown. Those
// without one are not: they are not whole.
func TestALaterErrorTakesNoViolationAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		broken bool
		ended  error
		want   int
	}{
		{true, errors.New("the connection is gone"), exitViolated}, {true, context.Canceled, exitViolated}, {true, nil, exitViolated},
		{false, errors.New("the connection is gone"), exitCannotRun}, {false, context.Canceled, exitNoVerdict}, {false, nil, exitValid},
	} {
		shown := c.broken || c.ended == nil
		told := func(what string, shows func(out io.Writer) error, has string) {
			var out, said bytes.Buffer
			code := exitCode(shows(&out), &said)
			if code != c.want || strings.Contains(out.String(), has) != shown || (said.Len() > 0) != (c.ended != nil) {
				t.Errorf("%s, broken %v, %v: exit %d, want %d; it prints %s%s", what, c.broken, c.ended, code, c.want, &out, &said)
			}
		}
		told("matrix", func(out io.Writer) error {
			cell := interleaving.Cell{Database: "X 1", Level: "serializable", Anomaly: "G0", Result: interleaving.Shown, Broken: c.broken}
			return (&matrixFlags{}).show(out, interleaving.Matrix{cell}, unfinished(c.ended))
		}, "serializable")
		told("advice", func(out io.Writer) error {
			cmd := &cobra.Command{}
			cmd.SetOut(out)
			row := advise.Row{Level: "serializable", Verdict: check.Valid, Committed: 1}
			if c.broken {
				row.Verdict, row.PromiseBroken = check.Violated, true
			}
			return (&adviseFlags{out: t.TempDir()}).conclude(cmd, &advise.Advice{Levels: []advise.Row{row}, Right: []int{0}}, "assay advise", unfinished(c.ended))
		}, "serializable")
	}
	if err := (&adviseFlags{}).conclude(nil, nil, "", context.Canceled); !errors.Is(err, context.Canceled) {
		t.Errorf("without an advice: %v", err)
	}
}

// TestEndedTrials: an interruption, or an error, of the seventh trial takes no violation of the
// second away, and the finished ones are shown.
func TestEndedTrials(t *testing.T) {
	t.Parallel()
	lost, fine := powercuts.Trial{Setting: "fsync=on", Verdict: "violated"}, powercuts.Trial{Setting: "fsync=on", Verdict: "valid"}
	for _, c := range []struct {
		trials []powercuts.Trial
		ended  error
		want   int
	}{
		{[]powercuts.Trial{fine, lost}, context.Canceled, exitViolated}, {[]powercuts.Trial{fine}, context.Canceled, exitNoVerdict},
		{[]powercuts.Trial{fine}, errors.New("no loop device"), exitCannotRun}, {nil, context.Canceled, exitNoVerdict}, {[]powercuts.Trial{fine, lost}, nil, exitViolated},
	} {
		var out, said bytes.Buffer
		f := &durabilityFlags{pipeline: pipelineFlags{junit: filepath.Join(t.TempDir(), "trials.xml")}}
		code := exitCode(f.show(&out, c.trials, unfinished(c.ended)), &said)
		if code != c.want || strings.Count(out.String(), "fsync=on") != len(c.trials) || (said.Len() > 0) != (c.ended != nil) {
			t.Errorf("%d trials, %v: exit %d, want %d; it prints %s%s", len(c.trials), c.ended, code, c.want, &out, &said)
		}
		suites, all := testReport(t, f.pipeline.junit)
		if all.Tests != len(c.trials)+len(suites)-min(len(c.trials), 1) {
			t.Errorf("the test report counts %+v", all)
		}
	}
}
