package runner

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/check"
	"assay/cluster"
	"assay/fault"
	"assay/history"
	"assay/measure"
	"assay/report"
	"assay/runner/catalog"
	"assay/runner/lease"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

// FileRestored is the name of the file that tells of the backups that were restored, and
// where the state of each is in the run's folder.
const FileRestored = "restored.json"

// checkRestored is the check of a workload that Restores.
const checkRestored = "restored"

// embeddedBacking backs up a database within assay.
type embeddedBacking struct {
	driver  catalog.Driver
	address string
}

// CheckBackup implements cluster.Backing.
func (e embeddedBacking) CheckBackup(_ string, moment bool) error {
	if moment {
		return errors.New("SQLite keeps no log from which the state of a moment could be restored; restore that of the backup")
	}
	return nil
}

// BackUp implements cluster.Backing.
func (e embeddedBacking) BackUp(ctx context.Context, _ int, way, into string) (by string, err error) {
	if err := os.Mkdir(into, 0o700); err != nil {
		return "", err
	}
	return e.driver.BackUp(ctx, e.address, way, into)
}

// Restore implements cluster.Backing.
func (e embeddedBacking) Restore(_ context.Context, backup, into string, _ time.Time) (address string, end func() error, err error) {
	if err := os.CopyFS(into, os.DirFS(backup)); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(into))
	}
	return e.driver.Restored(into), func() error { return os.RemoveAll(into) }, nil
}

// backsItselfUp reports whether the faults can be done to a database within assay: they do
// something with backups, and nothing else.
func (s Scenario) backsItselfUp(faults []fault.Fault) bool {
	driver, err := catalog.DriverFor(embeddedAddress("", ""))
	if s.Database != "" {
		driver, err = catalog.DriverFor(s.Database)
	}
	return err == nil && driver.BackUp != nil && !slices.ContainsFunc(faults, func(f fault.Fault) bool {
		a, _ := fault.Lookup(f.Action)
		return !a.BacksUp
	})
}

// validateBackups looks at what is to be done with backups.
func (s Scenario) validateBackups(faults []fault.Fault) error {
	for _, f := range faults {
		a, _ := fault.Lookup(f.Action)
		switch {
		case !a.BacksUp:
		case f.Loading:
			return &store.OptionError{Option: "--fault", Value: f.String(), Want: "a backup in the measured part: what is loaded is in no history"}
		case f.Action == fault.Restore && f.Value != nil && slices.ContainsFunc(faults, movesClock):
			return &store.OptionError{Option: "--fault", Value: f.String(), Want: "the state of a moment without a fault that moves servers' clocks: commits have their times, and the moment is that of assay's"}
		case f.Action != fault.Restore || s.definition().Restores:
		default:
			return &store.OptionError{Option: "--fault", Value: f.String(), Want: "a workload that judges what was restored, such as bank; " + s.Workload + " does not"}
		}
	}
	return nil
}

func movesClock(f fault.Fault) bool {
	a, _ := fault.Lookup(f.Action)
	return a.MovesClock
}

// embed has a database within assay backed up by itself, if that is asked for.
func (r *run) embed(ctx context.Context) error {
	faults, err := r.scenario.faults()
	if err != nil || len(faults) == 0 || r.hasNodes() {
		return err
	}
	r.embedded = cluster.NewBackups(embeddedBacking{r.driver, r.address}, filepath.Join(r.folder, "backups"))
	return fault.Validate(ctx, faults, fault.Embedded(r.embedded))
}

// backups are those of the run's database; nil where none can be made.
func (r *run) backups() *cluster.Backups {
	if r.cluster != nil {
		return r.cluster.Backups()
	}
	return r.embedded
}

// readRestored reads what was restored into folders of their own. A state that cannot be
// read is noted; that is no reason to lose the rest.
func (r *run) readRestored(ctx context.Context) error {
	var all []definition.Restored
	for _, x := range r.backups().Restored() {
		state := definition.Restored{Number: x.Restore, Backup: x.Number, Begun: int64(x.Begun.Sub(r.started)), Target: -1, Alone: x.Alone}
		if !x.Until.IsZero() {
			state.Target = int64(x.Until.Sub(r.started))
		}
		r.options.Progress.Stage("reading " + state.Name())
		state.State = filepath.Join("restored-"+strconv.Itoa(x.Restore), r.scenario.definition().State)
		if err := r.readOne(ctx, x.Address, filepath.Join(r.folder, filepath.Dir(state.State))); err != nil {
			state.State, state.Problem = "", err.Error()
		}
		all = append(all, state)
	}
	if len(all) == 0 {
		return nil
	}
	return definition.SaveJSON(filepath.Join(r.folder, FileRestored), all)
}

// readOne reads a restored database, if it holds this run.
func (r *run) readOne(ctx context.Context, address, folder string) (err error) {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	db, err := openWork(ctx, r.scenario, withOptions(address, r.scenario.Options), r.options.StallTimeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := lease.HoldsRun(ctx, db, r.id); err != nil {
		return err
	}
	return db.Save(ctx, folder, func(rows int64) { r.options.Progress.Rows(rows, 0) })
}

// restoredStates are those that a run's folder holds.
func restoredStates(folder string) ([]definition.Restored, error) {
	all, err := definition.ReadJSON[[]definition.Restored](filepath.Join(folder, FileRestored))
	for i := range all {
		if all[i].State != "" {
			all[i].State = filepath.Join(folder, all[i].State)
		}
	}
	return all, err
}

// enterUnrestored has the check of restored backups say what was to be restored and was not,
// or was not read. It is not valid then: a backup that cannot be restored is none.
func enterUnrestored(results []check.Result, faults []report.Fault, read []definition.Restored) []check.Result {
	var problems []string
	for i := range faults {
		f := &faults[i]
		if reportedAction(f).Name != fault.Restore || f.Backup != nil && slices.ContainsFunc(read, func(s definition.Restored) bool { return s.Number == f.Backup.Restore }) {
			continue
		}
		problems = append(problems, f.Asked+": "+cmp.Or(f.Problem, "the run ended before it had read what was restored"))
	}
	if len(problems) == 0 {
		return results
	}
	at := slices.IndexFunc(results, func(r check.Result) bool { return r.Name == checkRestored })
	if at < 0 {
		at, results = len(results), append(results, check.Result{Name: checkRestored})
	}
	r := &results[at]
	if r.Verdict == check.Valid {
		r.Verdict = check.Unknown
	}
	r.Detail = strings.TrimPrefix(r.Detail+"; "+strings.Join(problems, "; "), "; ")
	return results
}

// rulingOfCopies is what is known of findings of what was restored, where some of the backups
// were copies of the database's file alone; nil where none were.
func rulingOfCopies(faults []report.Fault) *promise.Ruling {
	const source = "backup=" + fault.WayCopy
	backups, copies := 0, 0
	for _, f := range faults {
		if f.Backup == nil || f.Backup.Restore > 0 {
			continue
		}
		backups++
		if f.Action == source {
			copies++
		}
	}
	if copies == 0 {
		return nil
	}
	ruling := promise.OfCopies(source, copies == backups)
	return &ruling
}

// enterMoments enters where in the history the restored states lie.
func enterMoments(r *report.Result, moments map[int]report.Moment) {
	for i := range r.Faults {
		if b := r.Faults[i].Backup; b != nil {
			if m, known := moments[b.Restore]; known {
				b.Moment = &m
			}
		}
	}
}

// mostFelt is of how many backups the load is measured.
const mostFelt = 16

// felt is the load in the measured part by its faults: by all of them, and by each backup and
// each restore, by the index of its fault.
type felt struct {
	all  *measure.FaultWindows
	each map[int]*measure.FaultWindows
}

func newFelt(scope measure.Scope, l *faultLog, acted []measure.FaultPeriod, indexes []int) felt {
	f := felt{all: measure.NewFaultWindows(scope, acted), each: map[int]*measure.FaultWindows{}}
	for i, at := range indexes {
		if l.faults[at].Backup != nil && len(f.each) < mostFelt {
			f.each[at] = measure.NewFaultWindows(scope, acted[i:i+1])
		}
	}
	return f
}

func (f *felt) add(op *history.Op) {
	f.all.Add(op)
	for _, windows := range f.each {
		windows.Add(op)
	}
}

// enter enters what the load felt of each backup into its fault.
func (f *felt) enter(faults []report.Fault) {
	for at, windows := range f.each {
		before, during := windows.Around()
		faults[at].Backup.Before, faults[at].Backup.During = feltOf(before), feltOf(during)
	}
}

// feltOf is nil for a part without length.
func feltOf(f measure.Figures) *report.Felt {
	if f.Throughput.Seconds == 0 {
		return nil
	}
	return &report.Felt{Seconds: f.Throughput.Seconds, PerSecond: f.Throughput.PerSecond, P50: f.Latency.P50, P99: f.Latency.P99, Max: f.Latency.Max}
}

// backupRecord is what a backup or a restore made, as the history has it.
type backupRecord struct {
	Number  int    `json:"number"`
	Restore int    `json:"restore,omitempty"`
	By      string `json:"by"`
	Bytes   int64  `json:"bytes"`
	Took    int64  `json:"took"`
	// Target is the moment restored, in nanoseconds since the start of the run; nil for that
	// of the backup.
	Target *int64 `json:"target,omitempty"`
}

// backupRecordOf is nil for nil.
func backupRecordOf(b *fault.Backup, start time.Time) *backupRecord {
	if b == nil {
		return nil
	}
	out := &backupRecord{Number: b.Number, Restore: b.Restore, By: b.By, Bytes: b.Bytes, Took: int64(b.Took)}
	if !b.Until.IsZero() {
		target := int64(b.Until.Sub(start))
		out.Target = &target
	}
	return out
}

// reported is the record for the report; nil for nil.
func (b *backupRecord) reported() *report.Backup {
	if b == nil {
		return nil
	}
	out := &report.Backup{Number: b.Number, Restore: b.Restore, By: b.By, Bytes: b.Bytes, Seconds: float64(b.Took) / 1e9}
	if b.Target != nil {
		second := float64(*b.Target) / 1e9
		out.Target = &second
	}
	return out
}
