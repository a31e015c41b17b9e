package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/application"
	"assay/application/mysql"
	"assay/application/postgres"
	"assay/application/wire"
	"assay/check"
	"assay/report"
	"assay/runner"
	"assay/runner/catalog"
	"assay/store"
	"assay/workload/script"
)

// appFlags are the flags of assay app.
type appFlags struct {
	plan        application.Plan
	db          string
	invariants  string
	out         string
	json, quiet bool
	// serve and control are where a proxy listens that stays.
	serve, control string
}

func newApp() *cobra.Command {
	f := &appFlags{plan: application.Plan{Tries: 30, Patience: 20 * time.Second, Late: []time.Duration{time.Second, 10 * time.Second, time.Minute}}}
	cmd := &cobra.Command{
		Use:   "app --db ADDRESS -- COMMAND...",
		Short: "Try what your application does when its database fails",
		Long: `Run your application against its database with assay between the two, and again
for each moment that means something, at which the database or the network fails.

assay listens as the server and passes every byte on. The untouched run tells it where
your application begins, commits and asks. At each such place one thing goes wrong in
a run of its own: COMMIT does not arrive, or arrives and its answer is lost; answers
come late; the connection is reset, or nothing comes any more; the server shuts down,
has too many connections, gives a deadlock or a serialization failure, or takes no
writes. Afterwards assay says whether something was done twice, an invariant broke,
your application hung, stopped, left something out, or did well.

Your application finds assay by DATABASE_URL, PGHOST, PGPORT, PGUSER, PGPASSWORD and
PGDATABASE, JDBC_DATABASE_URL or SPRING_DATASOURCE_URL, and by {db} in its arguments, which
is the address without a password. assay itself changes nothing in the database: --reset
names a command that brings it back before each run. PostgreSQL, MySQL and MariaDB are
spoken; MYSQL_HOST, MYSQL_PWD and others lead to the latter.

The exit code is 1 if something was done twice, a rule broke or the application hung,
and with --must-survive if it stopped.`,
		Example: `  assay app --db postgres://me@localhost/shop --invariants shop.star -- python place_orders.py
  assay app --db postgres://me@localhost/shop --serve 127.0.0.1:7000`,
		Args: cobra.ArbitraryArgs,
		RunE: f.run,
	}
	flags, p := cmd.Flags(), &f.plan
	flags.SortFlags = false
	flags.StringVar(&f.db, "db", "", databaseUsage)
	flags.StringVar(&f.invariants, "invariants", "", "a file in Starlark whose invariants are looked at after each run")
	flags.StringVar(&p.Reset, "reset", "", "a command of the shell that brings the database back before each run; without it all runs go on the same data")
	flags.IntVar(&p.Tries, "tries", p.Tries, "at most so many events, each in a run of its own")
	flags.StringVar(&p.Event, "event", "", "this event alone, as the report has it")
	addTime(flags, &p.Patience, "patience", p.Patience, "an application hangs that sends and gets nothing for so long")
	flags.DurationSliceVar(&p.Late, "late", p.Late, "how late answers come")
	flags.BoolVar(&p.MustSurvive, "must-survive", false, "exit code 1, too, if the application stops with an error")
	flags.StringVar(&f.serve, "serve", "", "stay as a proxy at this address, for tests of your own; without COMMAND")
	flags.StringVar(&f.control, "control", "127.0.0.1:7001", "with --serve: where tests set faults, by HTTP")
	flags.Uint64Var(&p.Seed, "seed", 0, "chooses the order of events and their times; chosen and printed if not given")
	flags.StringVar(&f.out, "out", "", "the folder (default runs/<time>-app)")
	flags.BoolVar(&f.json, "json", false, "print app.json on standard output")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress")
	return cmd
}

// spoken are the protocols that assay can stand in for.
const spoken = "PostgreSQL (postgres://), MySQL (mysql://) and MariaDB (mariadb://)"

// product is the server behind an address.
func product(address string) (application.Product, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil:
	case u.Scheme == "postgres" || u.Scheme == "postgresql":
		return postgres.New(address)
	case u.Scheme == "mysql" || u.Scheme == "mariadb":
		return mysql.New(address)
	}
	if address == "" {
		return nil, usageError{errors.New("which database does the application use? name it with --db or in ASSAY_DB; assay app speaks " + spoken)}
	}
	scheme, _, _ := strings.Cut(address, ":")
	return nil, usageError{fmt.Errorf("assay app does not speak the protocol of %s: addresses; it speaks %s", scheme, spoken)}
}

// validate finishes the plan.
func (f *appFlags) validate(cmd *cobra.Command, args []string) error {
	p := &f.plan
	switch {
	case f.serve != "" && (len(args) > 0 || f.invariants != "" || p.Reset != "" || p.Event != ""):
		return usageError{errors.New("--serve takes neither COMMAND nor --invariants, --reset and --event: tests of your own do that")}
	case f.serve != "":
	case len(args) == 0:
		return usageError{errors.New("there is no application; want assay app --db ADDRESS -- COMMAND")}
	case cmd.ArgsLenAtDash() != 0:
		return usageError{fmt.Errorf("%q stands before --; want assay app --db ADDRESS -- COMMAND", args[0])}
	case p.Tries < 1:
		return usageError{fmt.Errorf("--tries %d tries nothing; want 1 or more", p.Tries)}
	case p.Patience <= 0:
		return usageError{fmt.Errorf("--patience %s waits for nothing; want more than 0", p.Patience)}
	}
	for _, d := range p.Late {
		if d <= 0 {
			return usageError{fmt.Errorf("--late %s is not late; want more than 0", d)}
		}
	}
	if p.Event != "" {
		if _, err := wire.ParseFault(p.Event); err != nil {
			return usageError{err}
		}
	}
	address, err := databaseAddress(f.db, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if p.Product, err = product(address); err != nil {
		return err
	}
	p.Database = store.Redact(address)
	if f.invariants != "" {
		if err := f.readRules(address); err != nil {
			return err
		}
	}
	if !cmd.Flags().Changed("seed") {
		p.Seed = seedOf(f.out)
	}
	if f.serve != "" {
		return nil
	}
	p.Command, p.Again = args, f.command(cmd, args)
	return nil
}

func (f *appFlags) readRules(address string) error {
	rules, err := script.ReadRules(f.invariants)
	if err != nil {
		return err
	}
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return err
	}
	f.plan.RuleNames = rules.Names()
	f.plan.Rules = func(ctx context.Context) (map[string]string, error) {
		return rules.Broken(ctx, driver.Open, store.Target{Address: address, ConnectTimeout: 10 * time.Second})
	}
	return nil
}

// command is the command line again, without a password and without --event.
func (f *appFlags) command(cmd *cobra.Command, args []string) string {
	words := []string{"assay", "app"}
	if f.db != "" {
		words = append(words, "--db", f.plan.Database)
	}
	for _, name := range []string{"invariants", "reset", "patience", "late", "must-survive"} {
		switch flag := cmd.Flags().Lookup(name); {
		case !flag.Changed:
		case flag.Value.Type() == "bool":
			words = append(words, "--"+name)
		default:
			words = append(words, "--"+name, strings.Trim(flag.Value.String(), "[]"))
		}
	}
	return report.CommandLine(append(words, "--seed", strconv.FormatUint(f.plan.Seed, 10))) + " -- " + report.CommandLine(args)
}

func (f *appFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.validate(cmd, args); err != nil {
		return err
	}
	stderr, out := cmd.ErrOrStderr(), cmd.OutOrStdout()
	if f.serve != "" {
		return f.stay(cmd.Context(), out, stderr)
	}
	if f.out == "" {
		f.out = filepath.Join("runs", time.Now().UTC().Format("20060102T150405Z")+"-app")
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return err
	}
	f.plan.Folder = f.out
	f.plan.Progress = func(text string) {
		if !f.quiet {
			fmt.Fprintln(stderr, text)
		}
	}
	r, err := application.Run(cmd.Context(), f.plan)
	if r == nil {
		return err
	}
	page := filepath.Join(f.out, runner.FileReport)
	d := r.Document()
	kept := errors.Join(writeTo(page, d.HTML), writeTo(filepath.Join(f.out, "report.md"), d.Markdown), writeTo(filepath.Join(f.out, "app.json"), r.Write))
	if err := errors.Join(err, kept); err != nil {
		return err
	}
	if f.json {
		err = r.Write(out)
	} else {
		err = r.Lines(out, page)
	}
	if err != nil {
		return fmt.Errorf("print the report: %w", err)
	}
	return exitError(map[check.Verdict]int{check.Violated: exitViolated, check.Unknown: exitNoVerdict}[r.Ends])
}

// stay serves tests until it is interrupted, and prints what has passed.
func (f *appFlags) stay(ctx context.Context, out, stderr io.Writer) error {
	s, err := application.Serve(f.plan.Product, f.serve, f.control)
	if err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(stderr, "listening for the application on %s, and for tests on %s\n", s.Address(), s.Control())
	}
	passed, err := s.Run(ctx)
	if err != nil {
		return err
	}
	if f.json {
		return printJSON(out, passed)
	}
	_, err = fmt.Fprintf(out, "%s, of which %s were committed, over %s\n", check.Counted(passed.Transactions, "transaction", "transactions"),
		check.Count(passed.Committed), check.Counted(passed.Connections, "connection", "connections"))
	return err
}
