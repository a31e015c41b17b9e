package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"assay/agents"
	"assay/catalog"
	"assay/cluster"
	"assay/cluster/kubernetes"
	"assay/cluster/server"
	"assay/compare"
	"assay/fault"
	"assay/history"
	"assay/load"
	"assay/measure"
	"assay/monitor"
	"assay/report"
	"assay/runner"
	"assay/series"
	"assay/study"
	"assay/workload"
	"assay/workload/script"
)

// The exit codes, fixed for those who script assay.
const (
	exitValid       = report.ExitValid
	exitViolated    = report.ExitViolated
	exitUsage       = 2
	exitThreshold   = report.ExitThreshold
	exitNoVerdict   = report.ExitNoVerdict
	exitCannotRun   = 5
	exitInterrupted = 130
)

// usageError is a command line that cannot be understood.
type usageError struct{ error }

// resultError is a run that ended with a result, which was shown already.
type resultError struct{ code int }

func (e resultError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// exitCode prints an error that was not shown yet, as one line, and returns
// the code for it.
func exitCode(err error, stderr io.Writer) int {
	if err == nil {
		return exitValid
	}
	var shown resultError
	if errors.As(err, &shown) {
		return shown.code
	}
	fmt.Fprintf(stderr, "assay: %s\n", oneLine(err))
	return codeOf(err)
}

// oneLine is the error as it is printed. The last lines of a server's log stay
// lines.
func oneLine(err error) string {
	return strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted")
}

func codeOf(err error) int {
	var (
		usage     usageError
		option    *workload.OptionError
		plan      *load.PlanError
		scheme    *catalog.SchemeError
		threshold *measure.ThresholdError
		scenario  *runner.ScenarioError
		folder    *runner.FolderError
		format    *history.FormatError
		input     *runner.InputError
		spec      *cluster.SpecError
		holder    keeperError
		grammar   *fault.ParseError
		goal      *fault.TargetError
		schedule  *fault.ScheduleError
		noPrimary *server.NoPrimaryError
		unlike    *compare.DifferentError
		gate      *compare.GateError
		compared  *compare.InputError
		plural    *series.PlanError
		file      *report.FileError
		studied   *study.Error
		watch     *monitor.AddressError
		cut       *runner.InterruptedError
		nothing   *runner.NothingError
		written   *script.Error
		engine    *agents.AddressError
		selected  *kubernetes.TargetError
	)
	switch {
	case errors.As(err, &cut), errors.As(err, &nothing):
		return exitNoVerdict // it could run, and was not let, or there is nothing to show
	case errors.As(err, &holder):
		return holder.code
	case errors.As(err, &folder) && folder.Err != nil && !errors.Is(folder.Err, os.ErrNotExist) && !errors.Is(folder.Err, syscall.ENOTDIR):
		return exitCannotRun // the disk refused, not the user erred
	case errors.As(err, &usage), errors.As(err, &option), errors.As(err, &plan), errors.As(err, &scheme),
		errors.As(err, &threshold), errors.As(err, &scenario), errors.As(err, &folder),
		errors.As(err, &format), errors.As(err, &input), errors.As(err, &spec),
		errors.As(err, &grammar), errors.As(err, &goal), errors.As(err, &schedule), errors.As(err, &noPrimary),
		errors.As(err, &unlike), errors.As(err, &gate), errors.As(err, &compared), errors.As(err, &plural),
		errors.As(err, &file), errors.As(err, &watch), errors.As(err, &studied), errors.As(err, &engine), errors.As(err, &selected), errors.As(err, &written), strings.HasPrefix(err.Error(), "unknown command"):
		return exitUsage
	default:
		return exitCannotRun
	}
}

// shownResult turns a result that was shown into the error that carries its
// code, nil for 0.
func shownResult(r *report.Result) error {
	if code := report.ExitOf(r).Code; code != exitValid {
		return resultError{code}
	}
	return nil
}
