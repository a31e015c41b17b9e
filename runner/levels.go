package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"assay/runner/catalog"
	"assay/runner/lease"
	"assay/runner/readback"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/interleaving"
	"assay/workload/isolation"
)

// MatrixScenario is what IsolationMatrix plays, and where.
type MatrixScenario struct {
	// Database is the address, Cluster the servers to start. Both are empty for an SQLite file.
	Database, Cluster string
	Options           []string
	// Levels are names; none for all levels.
	Levels         []string
	ConnectTimeout time.Duration
}

type matrix struct {
	address string
	timeout time.Duration
	options Options
	support definition.Support
	cells   interleaving.Matrix
	dropped bool
}

// IsolationMatrix plays the scripts of package interleaving at each isolation level, in the
// schema of workload isolation. It drops the schema, also when ctx ends; the error is then an
// *InterruptedError. The cells that were played before an error are returned with it.
func IsolationMatrix(ctx context.Context, s MatrixScenario, o Options) (cells interleaving.Matrix, err error) {
	if err := validOptions(s.Options); err != nil {
		return nil, err
	}
	o.Progress = &inTurn{progress: o.Progress, status: &Status{}}
	on, stop, err := StartServers(ctx, Scenario{Cluster: s.Cluster, Database: s.Database}, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	address, remove, err := orTemporary(on.Database)
	if err != nil {
		return nil, err
	}
	defer remove()
	m := &matrix{address: withOptions(address, s.Options), timeout: s.ConnectTimeout, options: o, dropped: true}
	err = m.play(ctx, s.Levels)
	if err != nil && ctx.Err() != nil && m.dropped {
		err = &InterruptedError{During: "playing the scripts", Left: "assay's schema was dropped again", Err: err}
	}
	return m.cells, err
}

func (m *matrix) play(ctx context.Context, wanted []string) error {
	m.options.Progress.Stage("connecting")
	levels, product, err := Levels(ctx, Scenario{Workload: isolation.Name, Database: m.address, ConnectTimeout: m.timeout})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(product.Settings, func(s store.Setting) bool { return s.Name == store.SettingBugs }) { // seeded bugs strike any session
		return &store.OptionError{Option: "database", Value: store.Redact(m.address), Reason: "its sessions cannot be played step by step",
			Want: "sqlite:, postgres:, mysql:, mongodb: or mem:, without seeded bugs"}
	}
	driver, err := catalog.DriverFor(m.address)
	if err != nil {
		return err
	}
	m.support = driver.Support(isolation.Name)
	if levels, err = ChooseLevels(levels, wanted); err != nil {
		return err
	}
	for _, level := range levels {
		m.options.Progress.Stage("playing " + level.Name)
		if err := m.level(ctx, level); err != nil {
			return err
		}
	}
	return nil
}

func (m *matrix) level(ctx context.Context, level store.Level) (err error) {
	before := len(m.cells)
	db, err := m.support.Open(ctx, store.Target{Address: withOptions(m.address, level.Options), ConnectTimeout: m.timeout, Isolation: level.Isolation})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Marker(ctx); err != nil { // a foreign schema gets no lease
		return err
	}
	id := uuid.NewString()
	own, err := lease.Take(ctx, db, id, lease.Terms{Note: m.options.Progress.Note})
	if err != nil {
		return err
	}
	working := own.Keep(ctx)
	defer own.Release(ctx)
	mark := store.Marker{Run: id, Workload: isolation.Name, Version: m.options.Version, Created: time.Now().UTC().Truncate(time.Second)}
	m.dropped = false
	if err := db.Create(working, mark); err != nil {
		return err
	}
	product, err := db.Describe(working)
	if err == nil {
		err = interleaving.Play(working, db, product.Name+" "+product.Version, level.Name, func(c interleaving.Cell) {
			m.cells = append(m.cells, c)
		})
	}
	if lost := own.IsLost(); lost != nil { // the schema is another run's, which may have made what was seen
		m.cells = m.cells[:before]
		return fmt.Errorf("another run has taken the database from this one: %w", lost)
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), readback.SettleTimeout)
	defer cancel()
	settled, dropped := db.Settle(ending), db.Drop(ending)
	m.dropped = dropped == nil
	return errors.Join(err, settled, dropped)
}

// StartServers starts servers that several runs share. on has their address in place of the
// cluster. stop ends them. A scenario without a cluster stays as it is.
func StartServers(ctx context.Context, s Scenario, o Options) (on Scenario, stop func() error, err error) {
	o = o.withDefaults()
	r := &run{scenario: s, options: o}
	if err = r.provide(ctx); err != nil {
		return s, nil, r.interrupted(ctx, err, "the servers were being started")
	}
	s.Database, s.Cluster = r.address, ""
	return s, r.system.Close, nil
}

// Levels returns the isolation levels of a scenario's database, and its product. Without a
// database it asks an SQLite file.
func Levels(ctx context.Context, s Scenario) (levels []store.Level, product store.Product, err error) {
	address, remove, err := orTemporary(s.Database)
	if err != nil {
		return nil, product, err
	}
	defer remove()
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

// orTemporary returns the address or, if it is empty, a temporary SQLite file's. The returned
// function removes the file.
func orTemporary(address string) (string, func(), error) {
	if address != "" {
		return address, func() {}, nil
	}
	folder, err := os.MkdirTemp("", "assay-levels-")
	if err != nil {
		return "", nil, fmt.Errorf("make a folder for an SQLite file: %w", err)
	}
	return schemeSQLite + filepath.Join(folder, isolation.Name+fileSQLite), func() { _ = os.RemoveAll(folder) }, nil
}

// ChooseLevels returns the levels with these names; all if there are none. An unknown name
// gives a *store.OptionError.
func ChooseLevels(levels []store.Level, names []string) (some []store.Level, err error) {
	if len(names) == 0 {
		return levels, nil
	}
	var known []string
	for _, l := range levels {
		known = append(known, l.Name)
		if slices.Contains(names, l.Name) {
			some = append(some, l)
		}
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, &store.OptionError{Option: "--level", Value: n, Want: strings.Join(known, "; ")}
		}
	}
	return some, nil
}
