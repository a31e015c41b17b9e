package streaming

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"assay/cluster/postgres"
)

// PlainOptions says how to run a primary with standbys that no program leads. The zero value has
// one of the two standbys confirm each commit.
type PlainOptions struct {
	Placement // three nodes, if it does not say

	// Programs is the folder of PostgreSQL's programs; empty means wherever they are found.
	Programs string
	// Asynchronous lets commits return before any standby has them. Otherwise each commit
	// waits until any one of the standbys has it on disk, for as long as there is none.
	Asynchronous bool
	// Settings are settings of every server as name=value, visible in the machine's process list.
	Settings []string
}

// Plain is a PostgreSQL primary, which is server 0, and its standbys. PostgreSQL itself never
// promotes a standby, and nobody else does here: a lost primary is lost until it is started
// again. The standbys connect to it again by themselves. Methods are safe for concurrent use.
type Plain struct {
	*Set
	servers []*postgres.Server
}

// StartPlain starts the first server as the primary, makes the others its standbys, and returns
// when all are in step. A missing program is a *server.MissingError.
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

// addServers makes the servers of the nodes.
func (s *Plain) addServers(asynchronous bool) {
	for i, n := range s.nodes {
		settings := []string{
			// A connection on which the other side is silent is given up for lost, on
			// both sides: TCP alone would take minutes.
			"wal_sender_timeout=3s", "wal_receiver_timeout=3s", "wal_receiver_status_interval=1s",
			// A standby asks again after 100 ms and not five seconds.
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

// AnyOne is the setting by which each commit waits until any one of the servers of these names has
// it on disk.
func AnyOne(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, `"`+strings.ReplaceAll(name, `"`, `""`)+`"`)
	}
	return "synchronous_standby_names=ANY 1 (" + strings.Join(quoted, ", ") + ")"
}

// startAll starts the primary and then its standbys, each on a copy of it.
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

// Parameter asks server i for the value of a parameter that new sessions work with.
func (s *Plain) Parameter(ctx context.Context, i int, name string) (string, error) {
	return s.servers[i].Parameter(ctx, name)
}

// Restart stops server i if it runs, and starts it again as what it was. It returns when it
// takes writes or streams, or, where there is no primary, when it serves reads. env is added
// to its environment this once, as NAME=value.
func (s *Plain) Restart(ctx context.Context, i int, env ...string) error {
	err := s.servers[i].Restart(ctx, env...)
	if err == nil && i > 0 {
		err = s.AwaitPart(ctx, i)
	}
	return err
}

// Close ends all servers so that the system keeps nothing of them, and removes their folder.
func (s *Plain) Close() error {
	var failed []error
	for _, server := range s.servers {
		failed = append(failed, server.Close())
	}
	return errors.Join(append(failed, os.RemoveAll(s.options.Dir))...)
}
