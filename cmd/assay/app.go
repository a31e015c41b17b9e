package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"assay/application"
	"assay/application/mongodb"
	"assay/application/mysql"
	"assay/application/postgres"
	"assay/application/wire"
	"assay/check"
	"assay/cluster"
	"assay/fault"
	"assay/report"
	"assay/runner"
	"assay/runner/catalog"
	"assay/store"
	"assay/workload/script"
)

type appFlags struct {
	plan        application.Plan
	db, compare string
	other       string // the address that compare names, with its password
	cluster     string
	faults      []string
	invariants  string
	rules       *script.Rules
	out         string
	json, quiet bool
	// serve and control are where a proxy that stays listens.
	serve, control string
	event          *wire.Fault
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
is the address without a password. If it insists on TLS, {ca}, ASSAY_CA and PGSSLROOTCERT
name the file with assay's authority. assay itself changes nothing in the database: --reset
names a command that brings it back before each run. MYSQL_HOST,
MYSQL_PWD and others lead to MySQL and MariaDB, and MONGODB_URI to MongoDB.

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
	flags.StringVar(&f.cluster, "cluster", "", "in place of --db: start servers on this machine, such as patroni:3; assay cluster --help has all")
	flags.StringArrayVar(&f.faults, "fault", nil, "with --cluster: do this to the servers in a run of its own, in place of the events, such as 'kill primary for 5s'; without at it strikes when half of the commits are done. Repeatable")
	flags.StringVar(&f.invariants, "invariants", "", "a file in Starlark whose invariants are looked at after each run")
	flags.StringVar(&p.Reset, "reset", "", "a command of the shell that brings the database back before each run; without it all runs go on the same data")
	flags.IntVar(&p.Tries, "tries", p.Tries, "at most so many events, each in a run of its own")
	flags.StringVar(&p.Event, "event", "", "this event alone, as the report has it; with --serve again and again, such as answer-lost@commit:100 at each hundredth")
	addTime(flags, &p.Patience, "patience", p.Patience, "how long an application may send and get nothing before it counts as hung")
	addTime(flags, &p.TimeLimit, "time-limit", 0, "how long a run of the application, --reset, or a look at the invariants may take, beside the event's own time. By default a run with an event counts as hung after 10 times the untouched run, at least 5m, and --patience; an untouched run may take 1h, the others 10m")
	flags.DurationSliceVar(&p.Late, "late", p.Late, "how late answers come")
	flags.StringVar(&f.compare, "compare", "", "the address of another server: run the application twice on each, untouched, and compare the answers; exit code 3 if they differ")
	flags.BoolVar(&p.MustSurvive, "must-survive", false, "exit code 1, too, if the application stops with an error")
	flags.StringVar(&f.serve, "serve", "", "stay as a proxy at this address, for tests of your own; without COMMAND")
	flags.StringVar(&f.control, "control", "127.0.0.1:7001", "with --serve: where tests set faults, by HTTP")
	flags.Uint64Var(&p.Seed, "seed", 0, "chooses the order of events and their times; chosen and printed if not given")
	flags.StringVar(&f.out, "out", "", "the folder, with every transaction; it must be new or empty (default runs/<time>-app; with --serve none)")
	flags.BoolVar(&f.json, "json", false, "print app.json on standard output")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress")
	return cmd
}

const spoken = "PostgreSQL (postgres://), MySQL (mysql://), MariaDB (mariadb://) and MongoDB (mongodb://)"

func product(address string) (application.Product, error) {
	scheme, _, _ := strings.Cut(address, ":")
	switch scheme {
	case "postgres", "postgresql":
		return postgres.New(address)
	case "mysql", "mariadb":
		return mysql.New(address)
	case "mongodb", "mongodb+srv":
		return mongodb.New(address)
	}
	if address == "" {
		return nil, usageError{errors.New("which database does the application use? name it with --db or in ASSAY_DB; assay app speaks " + spoken)}
	}
	return nil, usageError{fmt.Errorf("assay app does not speak the protocol of %s: addresses; it speaks %s", scheme, spoken)}
}

func (f *appFlags) validate(cmd *cobra.Command, args []string) error {
	p := &f.plan
	switch {
	case f.serve != "" && (len(args) > 0 || f.invariants != "" || p.Reset != "" || f.cluster != "" || f.compare != "" || len(f.faults) > 0):
		return usageError{errors.New("--serve takes none of COMMAND, --invariants, --reset, --cluster, --fault and --compare: tests of your own run the application, against the database of --db")}
	case f.serve != "":
	case len(args) == 0:
		return usageError{errors.New("there is no application; want assay app --db ADDRESS -- COMMAND")}
	case cmd.ArgsLenAtDash() != 0:
		return usageError{fmt.Errorf("%q stands before --; want assay app --db ADDRESS -- COMMAND", args[0])}
	case f.cluster != "" && f.db != "":
		return usageError{errors.New("--cluster starts servers of assay's own: it takes neither --db nor --serve")}
	case len(f.faults) > 0 && (f.cluster == "" || p.Event != ""):
		return usageError{errors.New("--fault needs --cluster, and takes no --event")}
	case f.compare != "" && (f.cluster != "" || p.Event != "" || f.invariants != ""):
		return usageError{errors.New("--compare runs the application untouched: it takes none of --cluster, --fault, --event, --invariants and --serve")}
	case p.Tries < 1:
		return usageError{fmt.Errorf("--tries %d tries nothing; want 1 or more", p.Tries)}
	case p.Patience <= 0:
		return usageError{fmt.Errorf("--patience %s waits for nothing; want more than 0", p.Patience)}
	case p.TimeLimit < 0 || p.TimeLimit == 0 && cmd.Flags().Changed("time-limit"):
		return usageError{fmt.Errorf("--time-limit %s leaves no time; want more than 0", p.TimeLimit)}
	}
	for _, d := range p.Late {
		if d <= 0 {
			return usageError{fmt.Errorf("--late %s is not late; want more than 0", d)}
		}
	}
	if p.Event != "" {
		read := wire.ParseFault
		if f.serve != "" {
			read = application.Scheduled
		}
		var err error
		if f.event, err = read(p.Event); err != nil {
			return usageError{err}
		}
	}
	if !cmd.Flags().Changed("seed") {
		p.Seed = seedOf(f.out)
	}
	if f.out != "" {
		if err := runner.CheckFolder(f.out); err != nil {
			return err
		}
	}
	if f.serve != "" {
		return nil
	}
	p.Command = args
	return nil
}

func (f *appFlags) otherServer(cmd *cobra.Command) error {
	other := *f
	if err := other.reach(f.other); err != nil {
		return err
	}
	c, err := application.Compare(cmd.Context(), f.plan, other.plan)
	if err != nil {
		return unfinished(err)
	}
	asJSON := func(w io.Writer) error { return printJSON(w, c) }
	page, kept := f.keep(c.Document(), asJSON)
	if f.json {
		err = asJSON(cmd.OutOrStdout())
	} else {
		err = c.Lines(cmd.OutOrStdout(), page)
	}
	err = printing("report", err)
	code := exitValid
	switch {
	case len(c.Differences) > 0:
		code = exitThreshold
	case !c.Compared():
		code = exitNoVerdict
	}
	return errors.Join(kept, err, exitError(code))
}

// keep writes what was found. page is empty if it could not be written.
func (f *appFlags) keep(d report.Document, asJSON func(io.Writer) error) (page string, err error) {
	page = filepath.Join(f.out, runner.FileReport)
	if err = writeTo(page, d.HTML); err != nil {
		page = ""
	}
	return page, errors.Join(err, writeTo(filepath.Join(f.out, "report.md"), d.Markdown), writeTo(filepath.Join(f.out, "app.json"), asJSON))
}

func (f *appFlags) reach(address string) (err error) {
	p := &f.plan
	if p.Product, err = product(address); err != nil {
		return err
	}
	p.Database = store.Redact(address)
	driver, err := catalog.DriverFor(address)
	if err != nil {
		return err
	}
	target := store.Target{Address: address, ConnectTimeout: 10 * time.Second}
	p.Count = func(ctx context.Context, queries []string) ([]int64, error) {
		return script.Counts(ctx, driver.Open, target, queries)
	}
	if own, is := p.Product.(application.Counter); is {
		p.Count = own.Count
	}
	if p.Servers != nil {
		p.Servers.Describe = func(ctx context.Context) (store.Product, error) {
			return script.Describe(ctx, driver.Open, target)
		}
	}
	if f.rules != nil {
		p.RuleNames = f.rules.Names()
		p.Rules = func(ctx context.Context) (map[string]string, error) { return f.rules.Broken(ctx, driver.Open, target) }
	}
	return nil
}

// open finds the named database or starts servers. end stops these.
func (f *appFlags) open(cmd *cobra.Command) (end func() error, err error) {
	end = func() error { return nil }
	if f.invariants != "" {
		if f.rules, err = script.ReadRules(f.invariants); err != nil {
			return end, err
		}
	}
	if f.compare != "" {
		if f.other, err = addressOf("--compare", f.compare, cmd.ErrOrStderr()); err != nil {
			return end, err
		}
	}
	if f.cluster == "" {
		address, err := databaseAddress(f.db, cmd.ErrOrStderr())
		if err != nil {
			return end, err
		}
		return end, f.reach(address)
	}
	spec, err := cluster.ParseSpec(f.cluster)
	if err != nil {
		return end, err
	}
	servers := &application.Servers{}
	for _, text := range f.faults {
		one, err := fault.Parse(text)
		if err != nil {
			return end, err
		}
		servers.Faults = append(servers.Faults, one)
	}
	if _, err := product(cluster.SchemeOf(spec.Product) + "://localhost"); err != nil {
		return end, err
	}
	f.tell(cmd)("starting " + spec.String())
	if servers.Cluster, err = cluster.Start(cmd.Context(), fault.WithMeans(spec, servers.Faults), cluster.Options{}); err != nil {
		return end, err
	}
	f.plan.Servers = servers
	address, err := withDatabase(cmd.Context(), servers.Cluster.Address())
	if err != nil {
		return servers.Cluster.Close, err
	}
	return servers.Cluster.Close, f.reach(address)
}

func (f *appFlags) tell(cmd *cobra.Command) func(string) {
	return func(text string) {
		if !f.quiet {
			fmt.Fprintln(cmd.ErrOrStderr(), text)
		}
	}
}

// command has assay's own words of the command line, without a password and --event.
func (f *appFlags) command(cmd *cobra.Command) []string {
	words := []string{"assay", "app"}
	switch {
	case f.cluster != "":
		words = append(words, "--cluster", f.cluster)
	case f.db != "":
		words = append(words, "--db", shownAddress(f.db, f.plan.Database))
	}
	if f.compare != "" {
		words = append(words, "--compare", shownAddress(f.compare, store.Redact(f.other)))
	}
	for _, name := range []string{"invariants", "reset", "patience", "time-limit", "late", "must-survive"} {
		switch flag := cmd.Flags().Lookup(name); {
		case !flag.Changed:
		case flag.Value.Type() == "bool":
			words = append(words, "--"+name)
		case flag.Value.Type() == "durationSlice":
			words = append(words, "--"+name, strings.Trim(flag.Value.String(), "[]"))
		default:
			words = append(words, "--"+name, flag.Value.String())
		}
	}
	return append(words, "--seed", strconv.FormatUint(f.plan.Seed, 10))
}

func (f *appFlags) run(cmd *cobra.Command, args []string) (err error) {
	if err := f.validate(cmd, args); err != nil {
		return err
	}
	end, err := f.open(cmd)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return err
	}
	f.plan.Again = f.command(cmd)
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
	f.plan.Progress = f.tell(cmd)
	if f.compare != "" {
		return f.otherServer(cmd)
	}
	killed := &application.Report{Ends: check.Unknown, Notes: []string{"assay was ended before it had judged anything"}}
	if err := writeTo(filepath.Join(f.out, "app.json"), killed.Write); err != nil {
		return err
	}
	r, err := application.Run(cmd.Context(), f.plan)
	if r == nil {
		return unfinished(err)
	}
	page, kept := f.keep(r.Document(), r.Write)
	printed := r.Lines
	if f.json {
		printed = func(w io.Writer, _ string) error { return r.Write(w) }
	}
	return errors.Join(unfinished(err), kept, printed(out, page),
		exitError(map[check.Verdict]int{check.Violated: exitViolated, check.Unknown: exitNoVerdict}[r.Ends]))
}

// stay serves tests until interrupted, and prints what has passed.
func (f *appFlags) stay(ctx context.Context, out, stderr io.Writer) error {
	transactions := ""
	if f.out != "" {
		if err := os.MkdirAll(f.out, 0o755); err != nil {
			return err
		}
		transactions = filepath.Join(f.out, "transactions.jsonl")
	}
	failed := func(err error) {
		fmt.Fprintf(stderr, "%s: a connection failed: %v (assay tells of no other, and will end with exit code %d)\n", time.Now().Format(time.TimeOnly), err, exitCannotRun)
	}
	s, err := application.Serve(f.plan.Product, f.serve, f.control, f.event, transactions, failed)
	if err != nil {
		return err
	}
	if !f.quiet {
		fmt.Fprintf(stderr, "listening for the application on %s, and for tests on %s\n", s.Address(), s.Control())
	}
	passed, err := s.Run(ctx)
	if f.out != "" {
		err = errors.Join(err, writeTo(filepath.Join(f.out, "app.json"), func(w io.Writer) error { return printJSON(w, passed) }))
	}
	if f.json {
		return errors.Join(err, printJSON(out, passed))
	}
	_, printed := fmt.Fprintf(out, "%s, of which %s were committed, over %s\n", check.Counted(passed.Transactions, "transaction", "transactions"),
		check.Count(passed.Committed), check.Counted(passed.Connections, "connection", "connections"))
	return errors.Join(err, printed)
}
