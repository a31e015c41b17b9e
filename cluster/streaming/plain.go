package streaming

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"assay/cluster/postgres"
)

// PlainOptions of zero value mean two standbys, one of which confirms each commit.
type PlainOptions struct {
	Placement // three nodes, if it does not say

	Programs string
	// Asynchronous commits wait for no standby; others until one has them on disk, without end.
	Asynchronous bool
	// Settings are name=value for every server; the process list shows them.
	Settings []string
}

// Plain is a PostgreSQL primary, server 0, and its standbys, which are never promoted. They connect
// by themselves to a primary that comes back. Methods are safe for concurrent use.
type Plain struct {
	*Set
	servers []*postgres.Server
}

// StartPlain returns when all servers are in step. A missing program is a *server.MissingError.
func StartPlain(ctx context.Context, o PlainOptions) (*Plain, error) {
	programs, err := postgres.FindPrograms(o.Programs)
	if err != nil {
		return nil, err
	}
	if err := postgres.CanCopy(programs); err != nil {
		return nil, err
	}
	s := new(Plain)
	s.Set, err = NewSet(Options{Placement: o.Placement, Product: "PostgreSQL", LogPrefix: "postgres", Usual: 3, Programs: programs, Settings: o.Settings})
	if err != nil {
		return nil, fmt.Errorf("start PostgreSQL with standbys: %w", err)
	}
	s.addServers(o.Asynchronous)
	if err := s.startAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start PostgreSQL with standbys: %w", err), s.Close())
	}
	return s, nil
}

func (s *Plain) addServers(asynchronous bool) {
	for i, n := range s.nodes {
		settings := []string{
			// TCP alone would give up a silent connection after minutes.
			"wal_sender_timeout=3s", "wal_receiver_timeout=3s", "wal_receiver_status_interval=1s",
			// The default is five seconds.
			"wal_retrieve_retry_interval=100ms",
			// For a standby that was away.
			"wal_keep_size=1GB",
		}
		if i == 0 && len(s.nodes) > 1 && !asynchronous {
			settings = append(settings, AnyOne(s.names[1:]))
		}
		n.IsError = nil // the end of its log says why it gave up
		s.servers = append(s.servers, postgres.On(n, postgres.Options{
			Programs: s.options.Programs, User: User, Password: s.options.Password, Checksums: true,
			Archive: s.options.Archive, Settings: append(settings, s.options.Settings...),
		}))
	}
}

// AnyOne is the setting that makes commits wait until any of these servers has them on disk.
func AnyOne(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, `"`+strings.ReplaceAll(name, `"`, `""`)+`"`)
	}
	return "synchronous_standby_names=ANY 1 (" + strings.Join(quoted, ", ") + ")"
}

func (s *Plain) startAll(ctx context.Context) error {
	if err := s.servers[0].Begin(ctx); err != nil {
		return err
	}
	for i, standby := range s.servers[1:] {
		if err := standby.Follow(ctx, s.servers[0], s.names[i+1]); err != nil {
			return err
		}
	}
	return s.Settled(ctx)
}

// Parameter asks server i for the value of a parameter in new sessions.
func (s *Plain) Parameter(ctx context.Context, i int, name string) (string, error) {
	return s.servers[i].Parameter(ctx, name)
}

// Restart starts server i again with env in its old role, and returns when it takes writes or
// streams; without a primary, when it serves reads.
func (s *Plain) Restart(ctx context.Context, i int, env ...string) error {
	err := s.servers[i].Restart(ctx, env...)
	if err == nil && i > 0 {
		err = s.AwaitPart(ctx, i)
	}
	return err
}

// Close ends all servers, frees their shared memory, and removes their folder.
func (s *Plain) Close() error {
	var failed []error
	for _, server := range s.servers {
		failed = append(failed, server.Close())
	}
	return errors.Join(append(failed, os.RemoveAll(s.options.Dir))...)
}
