package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"assay/runner"
	"assay/runner/agents"
)

type agentCommand struct {
	join, pool, folder string
	wait, late         time.Duration
	attached, quiet    bool
}

func newAgent(version string) *cobra.Command {
	f := &agentCommand{}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Work a share of the runs that another process coordinates",
		Long: `Do a share of the work of runs that other processes coordinate.

An agent joins an engine (NATS), waits for a run that wants agents (assay run
--agents), works a share of its clients, and delivers what it recorded while it
works. It takes part in one run after the other until it is interrupted or the
engine closes.

What it records is kept in --folder until it was delivered. Of an agent that was
cut off the history can be delivered later, or copied into the folder agents of
the run's; assay check judges the run again. An agent that hears nothing of its
coordinator stops by itself.

The database's address comes from the run, but for its password: if it has one,
the agent needs the whole address in ASSAY_DB.`,
		Example: `  ASSAY_ENGINE='tls://assay:SECRET@10.0.0.5:4222?sha256=FINGERPRINT' assay agent
  assay agent --join 'tls://nats.example:4222?ca=ca.pem&creds=assay.creds'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), version, cmd.InOrStdin(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.join, "join", "", engineUsage+" or @FILE")
	flags.StringVar(&f.pool, "pool", agents.AnyPool, "take part in the runs of this pool alone")
	flags.StringVar(&f.folder, "folder", "", "where histories are kept until they were delivered (default the system's folder for temporary files)")
	addTime(flags, &f.wait, "wait", 5*time.Minute, "how long to try to reach the engine")
	addTime(flags, &f.late, "late", 10*time.Minute, "how long to go on delivering after nobody answers")
	flags.BoolVar(&f.attached, "attached", false, "end with standard input, whose lines are databases' addresses")
	flags.BoolVar(&f.quiet, "quiet", false, "no progress")
	_ = flags.MarkHidden("attached") // it is there
	_ = flags.MarkHidden("pool")
	return cmd
}

func (f *agentCommand) run(ctx context.Context, version string, stdin io.Reader, stderr io.Writer) error {
	address, err := engineAddress("--join", f.join, stderr)
	if err != nil {
		return err
	}
	if address == "" {
		return usageError{errors.New("which engine? name it with --join or " + engineVariable + "; assay run --agents prints it")}
	}
	known := &knownAddress{text: os.Getenv(databaseVariable)}
	if f.attached {
		attached, end := context.WithCancel(ctx)
		go func() { defer end(); known.read(stdin) }()
		ctx = attached
	}
	engine, err := f.connect(ctx, address)
	if err != nil {
		return err
	}
	defer engine.Close()
	note := func(text string) { fmt.Fprintln(stderr, "assay: "+text) }
	if f.quiet {
		note = func(string) {}
	}
	note("waiting for a run at " + agents.Redact(address))
	return agents.Serve(ctx, engine, &runner.ShareWorker{Database: known.get}, agents.Options{
		Version: version, Pool: f.pool, Folder: f.folder, Note: note, Late: f.late, Gone: f.wait, Clock: agents.NewClock(),
	})
}

// connect reaches the engine, which may start later than the agent.
func (f *agentCommand) connect(ctx context.Context, address string) (*agents.Engine, error) {
	limit, cancel := context.WithTimeout(ctx, f.wait)
	defer cancel()
	for {
		engine, err := agents.Open(limit, address)
		if err == nil || errors.As(err, new(*agents.AddressError)) || errors.As(err, new(*agents.CertificateError)) {
			return engine, err
		}
		select {
		case <-limit.Done():
			return nil, err
		case <-time.After(time.Second):
		}
	}
}

// knownAddress is the database's address. It is safe for concurrent use.
type knownAddress struct {
	mu   sync.Mutex
	text string
}

func (k *knownAddress) get() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text
}

// read takes addresses, a line each, until the end of the input.
func (k *knownAddress) read(from io.Reader) {
	for lines := bufio.NewScanner(from); lines.Scan(); {
		k.mu.Lock()
		k.text = lines.Text()
		k.mu.Unlock()
	}
}
