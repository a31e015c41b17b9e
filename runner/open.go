package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"assay/check"
	"assay/runner/catalog"
	"assay/runner/lease"
	"assay/runner/open"
)

// open reaches the database and makes the run's folder. An unreachable database leaves no empty
// folder behind.
func (r *run) open(ctx context.Context) (err error) {
	r.options.Progress.Stage("connecting")
	embedded := r.address == ""
	if embedded {
		r.address = embeddedAddress("", "") // the folder comes later
	}
	r.address = withOptions(r.address, r.scenario.Options)
	if r.driver, err = catalog.DriverFor(r.address); err != nil {
		return err
	}
	if embedded && strings.Contains(r.options.Out, "?") {
		return &FolderError{Path: r.options.Out, Reason: "cannot hold an SQLite file, in whose address parameters follow the question mark"}
	}
	_, missing := os.Stat(r.options.Out)
	if r.folder, err = CreateFolder(r.options.Out, time.Now(), r.scenario.Workload, r.driver.Name); err != nil {
		return err
	}
	if embedded {
		r.address = withOptions(embeddedAddress(r.folder, r.scenario.Workload), r.scenario.Options)
	}
	if err = r.embed(ctx); err == nil {
		err = r.makeRoom()
	}
	if err == nil {
		err = r.serve(ctx)
	}
	if err == nil {
		err = r.reach(ctx)
	}
	if err == nil && (r.system.Pods != nil || r.system.Hosts != nil) { // the database says by now who takes writes
		if err = r.system.Refuse(ctx, r.faults); err != nil {
			r.lease.Release(ctx)
			err = errors.Join(err, r.store.Close())
		}
	}
	if err != nil {
		giveBack(r.folder)
	}
	if err != nil && missing != nil {
		r.removeEmptyFolder()
	}
	return err
}

// removeEmptyFolder removes the run's folder, which this run made, and runs, if they are empty.
func (r *run) removeEmptyFolder() {
	if os.Remove(r.folder) == nil && r.options.Out == "" {
		_ = os.Remove(filepath.Dir(r.folder)) // fails if there are others
	}
}

func (r *run) reach(ctx context.Context) error {
	r.tellExisting()
	opened := opener(openWork)
	if a := r.options.Agents; a != nil {
		opened = a.open.orDefault()
	}
	scenario := r.scenario
	scenario.shared = r.options.Agents != nil
	db, err := opened(ctx, scenario, r.address, r.options.StallTimeout)
	if err != nil {
		return err
	}
	r.id = uuid.NewString()
	own, found, err := db.Own(ctx, r.id, lease.Terms{Shared: r.options.Agents != nil, Alone: r.system.Started != nil, Note: r.options.Progress.Note})
	if err != nil {
		return errors.Join(err, db.Close())
	}
	r.lease = own
	if found != nil {
		state := "complete"
		if !found.Marker.Loaded {
			state = "its loading was interrupted"
		}
		if found.Marker.Rows > 0 { // a script may have made all rows itself
			state = fmt.Sprintf("%s of %s, %s", check.Count(found.Rows), check.Counted(found.Marker.Rows, "row", "rows"), state)
		}
		r.options.Progress.Note(fmt.Sprintf("replacing what run %s left: %s", found.Marker.Run, state))
	}
	r.store = db
	r.offerRestart()
	if c, asks := r.scenario.Config.(observed); asks {
		if observers, _ := db.Observers(); len(observers) == 0 {
			if note := c.WithoutObservers(); note != "" {
				r.options.Progress.Note(note)
			}
		}
	}
	return nil
}

// opener has the contract of openWork.
type opener func(ctx context.Context, s Scenario, address string, stallTimeout time.Duration) (*open.Work, error)

func (o opener) orDefault() opener {
	if o == nil {
		return openWork
	}
	return o
}

// openWork opens the scenario's workload on the database at address; see open.Asked.
func openWork(ctx context.Context, s Scenario, address string, stallTimeout time.Duration) (*open.Work, error) {
	return open.Asked{
		Workload: s.Workload, Config: s.Config, Seed: s.Load.Seed, Clients: s.Load.Clients, Isolation: s.Isolation, Existing: s.UseExisting, Shared: s.shared,
		ConnectTimeout: s.ConnectTimeout, StallTimeout: stallTimeout,
	}.Open(ctx, address)
}

func embeddedAddress(folder, workload string) string {
	return schemeSQLite + filepath.Join(folder, workload+fileSQLite)
}
