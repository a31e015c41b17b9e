package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"assay/application"
	"assay/application/wire"
	"assay/cluster"
	"assay/cluster/kubernetes"
	"assay/cluster/server"
	"assay/fault"
	"assay/fault/chaosmesh"
	"assay/history"
	"assay/internal/yamlfile"
	"assay/load"
	"assay/measure"
	"assay/report"
	"assay/report/compare"
	"assay/runner"
	"assay/runner/agents"
	"assay/runner/catalog"
	"assay/runner/histories"
	"assay/runner/monitor"
	"assay/runner/series"
	"assay/store"
	"assay/workload/script"
)

// The exit codes, fixed for scripts.
const (
	exitValid       = report.ExitValid
	exitViolated    = report.ExitViolated
	exitUsage       = 2
	exitThreshold   = report.ExitThreshold
	exitNoVerdict   = report.ExitNoVerdict
	exitCannotRun   = 5
	exitInterrupted = 130
)

type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// resultError is a run whose result was shown already.
type resultError struct{ code int }

func (e resultError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// cutError is work that was interrupted before its verdict.
type cutError struct{ error }

func (e cutError) Unwrap() error { return e.error }

// unfinished makes an interruption a cutError, and returns other errors as they are.
func unfinished(err error) error {
	if errors.Is(err, context.Canceled) {
		return cutError{err}
	}
	return err
}

// exitCode prints what was not shown yet, and returns the gravest code. An error beside a result,
// such as a file that could not be written, takes no violation away.
func exitCode(err error, stderr io.Writer) int {
	code := exitValid
	unshown := without(err, func(e error) bool {
		shown, is := errors.AsType[resultError](e)
		if is {
			code = graver(code, shown.code)
		}
		return is
	})
	if unshown != nil {
		fmt.Fprintf(stderr, "assay: %s\n", textOf(unshown))
		code = graver(code, codeOf(unshown))
	}
	return code
}

// without leaves out the errors of errors.Join, at any depth, that drop names.
func without(err error, drop func(error) bool) error {
	joined, is := err.(interface{ Unwrap() []error }) //nolint:errorlint // the join itself, not one within another error
	switch {
	case err == nil:
		return nil
	case is && errors.Join(joined.Unwrap()...).Error() == err.Error(): // and not the several of fmt.Errorf
		var kept []error
		for _, part := range joined.Unwrap() {
			kept = append(kept, without(part, drop))
		}
		return errors.Join(kept...)
	case drop(err):
		return nil
	}
	return err
}

// graver is the graver of two codes. Nothing takes back a proven violation; then come work that
// could not be done, no verdict, a missed threshold and a mistake of the user's.
func graver(a, b int) int {
	for _, code := range []int{exitInterrupted, exitViolated, exitCannotRun, exitNoVerdict, exitThreshold, exitUsage} {
		if a == code || b == code {
			return code
		}
	}
	return exitValid
}

// textOf is an error as users read it, with "interrupted" in place of Go's words. An address loses its
// password: users also type it where a word, a path or a flag's name belongs.
func textOf(err error) string {
	text := strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
	if strings.HasPrefix(text, unknownCommand) && strings.Contains(text, "://") {
		text += "; " + whereAddresses
	}
	return store.RedactText(text)
}

// unknownCommand begins cobra's error for a word that a command does not take.
const unknownCommand = "unknown command"

// whereAddresses is for an address that stands alone.
const whereAddresses = "an address goes with --db"

// usageErrors test for each kind of error that the user must fix.
func usageErrors() []func(error) bool {
	return []func(error) bool{
		isA[usageError], isA[*store.OptionError], isA[*store.ShapeError], isA[*load.PlanError], isA[*catalog.SchemeError], isA[*measure.ThresholdError],
		isA[*runner.ScenarioError], isA[*runner.FolderError], isA[*report.InputError], isA[*history.FormatError], isA[*cluster.SpecError],
		isA[*fault.ParseError], isA[*fault.TargetError], isA[*fault.ScheduleError], isA[*chaosmesh.Error], isA[*server.NoPrimaryError],
		isA[*compare.DifferentError], isA[*compare.GateError], isA[*series.PlanError], isA[*report.FileError],
		isA[*yamlfile.Error], isA[*monitor.AddressError], isA[*monitor.EndpointError], isA[*script.Error], isA[*agents.AddressError], isA[*application.CommandError], isA[*application.AddressError], isA[*application.ResetError], isA[*application.SlowError], isA[*wire.PlaceError], isA[*kubernetes.TargetError],
		func(err error) bool { // which are cobra's, without types
			return strings.HasPrefix(err.Error(), unknownCommand) || strings.HasPrefix(err.Error(), "accepts ")
		},
	}
}

func isA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

func codeOf(err error) int {
	if isA[cutError](err) || isA[*runner.InterruptedError](err) || isA[*histories.InterruptedError](err) || isA[*runner.NothingError](err) {
		return exitNoVerdict // it could run, and was not let, or there is nothing to show
	}
	if keeper, is := errors.AsType[keeperError](err); is {
		return keeper.code
	}
	folder, is := errors.AsType[*runner.FolderError](err)
	if is && folder.Err != nil && !errors.Is(folder.Err, os.ErrNotExist) && !errors.Is(folder.Err, syscall.ENOTDIR) {
		return exitCannotRun // the disk refused, not the user erred
	}
	if exhausted(err) {
		return exitCannotRun
	}
	if slices.ContainsFunc(usageErrors(), func(is func(error) bool) bool { return is(err) }) {
		return exitUsage
	}
	return exitCannotRun
}

// exhausted reports whether the system lacked a resource or its disk failed. The user's command
// is then not at fault.
func exhausted(err error) bool {
	return slices.ContainsFunc([]error{
		syscall.ENOMEM, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE, syscall.EIO,
	}, func(lack error) bool { return errors.Is(err, lack) })
}

// exitError is the error with the code of a shown result; nil for 0.
func exitError(code int) error {
	if code == exitValid {
		return nil
	}
	return resultError{code}
}
