package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/spf13/cobra"

	"assay/runner"
	"assay/runner/catalog"
	"assay/runner/serve"
	"assay/store"
	"assay/workload/entity"
)

type serveFlags struct {
	db, listen     string
	parameters     []string
	connectTimeout time.Duration
	options        serve.Options
}

func newServe(version string) *cobra.Command {
	f := &serveFlags{options: serve.DefaultOptions()}
	f.options.Version = version
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve workload entity's web service from a database",
		Long: `Offer the web service of workload entity in front of a database.

Two calls write an entity (POST /entities) and read it by its id (GET
/entities/ID), as JSON; GET /openapi.json describes them all. It is there to be
loaded: by assay run entity --db http://..., which needs --allow-reset here, or
by other tools.

Without --allow-reset the service holds the database's lease, as a run does: it
does not start while a run works there, and no run starts while it serves.

It has no users and no encryption. It listens on loopback, where only this
machine reaches it, unless --listen says otherwise. It ends in order on the
first interrupt.`,
		Example: `  assay serve --db postgres://user@localhost/test
  assay serve --db 'mongodb://10.0.0.1/' --allow-reset
  curl -s http://127.0.0.1:8080/openapi.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.db, "db", "", databaseUsage)
	flags.StringArrayVar(&f.parameters, "option", nil, "a parameter of the address, such as w=1; repeatable")
	flags.StringVar(&f.listen, "listen", "127.0.0.1:8080", "where to listen, as HOST:PORT")
	flags.BoolVar(&f.options.AllowReset, "allow-reset", false, "let whoever reaches the service empty it and read everything back")
	flags.IntVar(&f.options.Sessions, "sessions", f.options.Sessions, "sessions of the database that work at once")
	addTime(flags, &f.options.Timeout, "timeout", f.options.Timeout, "longest time of the database's part of a request")
	addTime(flags, &f.connectTimeout, "connect-timeout", 10*time.Second, "longest time to reach the database")
	return cmd
}

func (f *serveFlags) run(ctx context.Context, stderr io.Writer) (err error) {
	if f.db, err = databaseAddress(f.db, stderr); err != nil {
		return err
	}
	if f.db == "" {
		return usageError{errors.New("which database? name it with --db or " + databaseVariable + ", such as sqlite:service.db")}
	}
	if err := f.options.Validate(); err != nil {
		return err
	}
	if f.db, err = runner.WithOptions(f.db, f.parameters); err != nil {
		return err
	}
	db, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f.options.Note = func(text string) { fmt.Fprintln(stderr, "assay: "+text) }
	listener, err := listenOn(f.listen) // before the lease is taken
	if err != nil {
		return err
	}
	service, err := serve.New(ctx, db, f.options)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintf(stderr, "assay: serving %s on http://%s\n", store.Redact(f.db), listener.Addr())
	if address, ok := listener.Addr().(*net.TCPAddr); ok && !address.IP.IsLoopback() {
		fmt.Fprintln(stderr, "assay: this is not loopback: there are no users, and whoever reaches the address can write and read")
	}
	if f.options.AllowReset {
		fmt.Fprintln(stderr, "assay: --allow-reset: whoever reaches the address can also drop what assay has made in the database")
	}
	return service.Serve(ctx, listener)
}

func (f *serveFlags) open(ctx context.Context) (store.Database, error) {
	driver, err := catalog.DriverFor(f.db)
	if err != nil {
		return nil, err
	}
	if driver.Name == "rest" {
		return nil, usageError{errors.New("--db names a service; name the database that is to be behind this one")}
	}
	support := driver.Support(entity.Name)
	if support.Open == nil {
		return nil, &store.OptionError{Option: "--db", Value: driver.Name, Want: support.Reason}
	}
	return support.Open(ctx, store.Target{Address: f.db, ConnectTimeout: f.connectTimeout})
}
