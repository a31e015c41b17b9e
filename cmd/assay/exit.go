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
	"assay/runner/study"
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

// exitCode prints an error that was not shown yet, and returns its code.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitValid
	}
	if shown, is := errors.AsType[resultError](err); is {
		return shown.code
	}
	fmt.Fprintf(stderr, "assay: %s\n", textOf(err))
	return codeOf(err)
}

// textOf is an error as users read it, with "interrupted" in place of Go's words.
func textOf(err error) string {
	return strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
}

// usageErrors test for each kind of error that the user must fix.
func usageErrors() []func(error) bool {
	return []func(error) bool{
		isA[usageError], isA[*store.OptionError], isA[*store.ShapeError], isA[*load.PlanError], isA[*catalog.SchemeError], isA[*measure.ThresholdError],
		isA[*runner.ScenarioError], isA[*runner.FolderError], isA[*report.InputError], isA[*history.FormatError], isA[*cluster.SpecError],
		isA[*fault.ParseError], isA[*fault.TargetError], isA[*fault.ScheduleError], isA[*chaosmesh.Error], isA[*server.NoPrimaryError],
		isA[*compare.DifferentError], isA[*compare.GateError], isA[*series.PlanError], isA[*report.FileError],
		isA[*study.Error], isA[*yamlfile.Error], isA[*monitor.AddressError], isA[*monitor.EndpointError], isA[*script.Error], isA[*agents.AddressError], isA[*application.CommandError], isA[*application.AddressError], isA[*application.ResetError], isA[*kubernetes.TargetError],
		func(err error) bool { // which are cobra's, without types
			return strings.HasPrefix(err.Error(), "unknown command") || strings.HasPrefix(err.Error(), "accepts ")
		},
	}
}

func isA[E error](err error) bool {
	_, is := errors.AsType[E](err)
	return is
}

func codeOf(err error) int {
	if isA[*runner.InterruptedError](err) || isA[*histories.InterruptedError](err) || isA[*runner.NothingError](err) {
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
