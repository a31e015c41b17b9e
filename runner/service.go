package runner

import (
	"context"
	"errors"
	"fmt"
	"net"

	"assay/runner/catalog"
	"assay/runner/serve"
	"assay/store"
	"assay/workload/definition"
)

// serve starts the web service in front of the database, if the workload asks for it, and sets
// the run's address to it. The service runs in this process, and its use of the machine counts
// as the tester's.
func (r *run) serve(ctx context.Context) error {
	c, can := r.scenario.Config.(definition.Served)
	if !can || !c.Served() {
		return nil
	}
	support := r.driver.Support(r.scenario.Workload)
	if support.Open == nil {
		return support.Refused()
	}
	db, err := support.Open(ctx, store.Target{Address: r.address, ConnectTimeout: r.scenario.ConnectTimeout, Isolation: r.scenario.Isolation})
	if err != nil {
		return err
	}
	o := serve.DefaultOptions()
	o.Version, o.AllowReset, o.Sessions = r.options.Version, true, min(r.scenario.Load.Clients, serve.MaxSessions)
	service, err := serve.New(ctx, db, o)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(fmt.Errorf("start the web service: %w", err), db.Close())
	}
	// The service outlives ctx: an interrupted run is still read back through it.
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- service.Serve(serving, listener) }()
	r.endService = func() error {
		end()
		return errors.Join(<-ended, db.Close())
	}
	behind := r.driver.Name
	r.address = "http://" + listener.Addr().String()
	if r.driver, err = catalog.DriverFor(r.address); err != nil {
		return err
	}
	r.options.Progress.Note("through a web service in front of " + behind + ", at " + r.address)
	return nil
}

func (r *run) closeService() error {
	if r.endService == nil {
		return nil
	}
	return r.endService()
}
