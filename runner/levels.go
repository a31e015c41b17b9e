package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"assay/runner/catalog"
	"assay/store"
	"assay/workload/isolation"
)

// StartServers starts the servers of a scenario that are to serve several runs, and returns
// the scenario on them: with their address in place of the cluster. The returned function
// ends them. A scenario without a cluster stays as it is.
func StartServers(ctx context.Context, s Scenario, o Options) (on Scenario, stop func() error, err error) {
	o = o.withDefaults()
	r := &run{scenario: s, options: o, address: s.Database}
	stop, err = r.provide(ctx)
	if err != nil {
		return s, nil, r.interrupted(ctx, err, "the servers were being started")
	}
	s.Database, s.Cluster = r.address, ""
	return s, stop, nil
}

// Levels are the isolation levels of the database of a scenario, and what it is. A scenario
// without a database is on an embedded SQLite file.
func Levels(ctx context.Context, s Scenario) (levels []store.Level, product store.Product, err error) {
	address := s.Database
	if address == "" {
		folder, err := os.MkdirTemp("", "assay-levels-")
		if err != nil {
			return nil, product, fmt.Errorf("make a folder for an SQLite file: %w", err)
		}
		defer os.RemoveAll(folder)
		address = schemeSQLite + filepath.Join(folder, isolation.Name+fileSQLite)
	}
	address = withOptions(address, s.Options)
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return nil, product, err
	}
	support := driver.Support(s.Workload)
	if support.Open == nil {
		return nil, product, support.Refused()
	}
	db, err := support.Open(ctx, store.Target{Address: address, ConnectTimeout: s.ConnectTimeout})
	if err != nil {
		return nil, product, err
	}
	levels = db.Levels()
	product, err = db.Describe(ctx)
	return levels, product, errors.Join(err, db.Close())
}
