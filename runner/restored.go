package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"assay/cluster"
	"assay/fault"
	"assay/history"
	"assay/runner/catalog"
	"assay/runner/lease"
	"assay/runner/readback"
	"assay/store"
	"assay/workload/definition"
)

type embeddedBacking struct {
	driver  catalog.Driver
	address string
}

func (e embeddedBacking) CheckBackup(_ string, moment bool) error {
	if moment {
		return errors.New("SQLite keeps no log from which the state of a moment could be restored; restore the backup's own state")
	}
	return nil
}

func (e embeddedBacking) BackUp(ctx context.Context, _ int, way, into string) (by string, err error) {
	if err := os.Mkdir(into, 0o700); err != nil {
		return "", err
	}
	return e.driver.BackUp(ctx, e.address, way, into)
}

func (e embeddedBacking) Restore(_ context.Context, backup, into string, _ time.Time) (address string, end func() error, err error) {
	if err := os.CopyFS(into, os.DirFS(backup)); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(into))
	}
	return e.driver.Restored(into), func() error { return os.RemoveAll(into) }, nil
}

// backsItselfUp reports whether the database is embedded and all faults are about backups.
func (s Scenario) backsItselfUp(faults []fault.Fault) bool {
	driver, err := catalog.DriverFor(embeddedAddress("", ""))
	if s.Database != "" {
		driver, err = catalog.DriverFor(s.Database)
	}
	return err == nil && driver.BackUp != nil && !slices.ContainsFunc(faults, func(f fault.Fault) bool {
		return !fault.Recorded(f.Action).BacksUp
	})
}

// validateBackups refuses backups and restores that the run cannot judge.
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

func movesClock(f fault.Fault) bool { return fault.Recorded(f.Action).MovesClock }

// embed lets the faults of an embedded database's run act on its backups.
func (r *run) embed(ctx context.Context) error {
	if len(r.scenario.Faults) == 0 || r.system.Target() != nil {
		return nil
	}
	r.system.Embedded = cluster.NewBackups(embeddedBacking{r.driver, r.address}, filepath.Join(r.folder, "backups"))
	return r.system.Refuse(ctx, r.faults)
}

// readRestored reads each restored database into its own folder. A failure is noted: it must
// not lose the rest. started is time zero of the history.
func (r *run) readRestored(ctx context.Context, started time.Time) error {
	var all []definition.Restored
	for _, x := range r.system.Backups().Restored() {
		state := definition.Restored{Number: x.Restore, Backup: x.Number, Begun: int64(x.Begun.Sub(started)), Target: -1, Alone: x.Alone}
		if !x.Until.IsZero() {
			state.Target = int64(x.Until.Sub(started))
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
	return history.WriteJSON(filepath.Join(r.folder, readback.FileRestored), all)
}

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
