package fault

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"assay/cluster"
	"assay/cluster/server"
)

// shifting starts servers again under libfaketime, which has them read another
// time of day. Their monotonic clock stays right: what waits for a time to pass
// waits as long as it should.
type shifting struct {
	nodes  []*cluster.Node
	offset time.Duration
	env    []string

	mu      sync.Mutex
	shifted []server.ProcessID // all that run or ran under the library
}

func shiftClock(nodes []*cluster.Node, offset time.Duration) (deed, error) {
	library, err := findFaketime()
	if err != nil {
		return nil, err
	}
	offset = cmp.Or(offset, DefaultOffset)
	return &shifting{nodes: nodes, offset: offset, env: faketimeEnv(library, offset)}, nil
}

func faketimeEnv(library string, offset time.Duration) []string {
	seconds := strconv.FormatFloat(offset.Seconds(), 'f', -1, 64)
	if offset > 0 {
		seconds = "+" + seconds
	}
	return []string{"LD_PRELOAD=" + library, "FAKETIME=" + seconds, "FAKETIME_DONT_FAKE_MONOTONIC=1"}
}

// findFaketime looks for the library where systems keep it. The variant for
// programs with threads comes first: servers have many.
func findFaketime() (string, error) {
	for _, folder := range []string{"/usr/lib/*/faketime", "/usr/lib64/faketime", "/usr/lib/faketime", "/usr/local/lib/faketime"} {
		for _, name := range []string{"libfaketimeMT.so.1", "libfaketime.so.1"} {
			if found, err := filepath.Glob(filepath.Join(folder, name)); err == nil && len(found) > 0 {
				return found[0], nil
			}
		}
	}
	return "", &UnavailableError{Action: Clock, Reason: "there is no libfaketime.so.1 on this machine",
		Instead: "install the package faketime, or run scripts/install-servers.sh faketime"}
}

func (s *shifting) act(ctx context.Context) error {
	return each(s.nodes, func(n *cluster.Node) error {
		if err := n.Stop(ctx); err != nil {
			return err
		}
		err := n.Start(ctx, s.env...)
		return errors.Join(err, s.remember(n))
	})
}

// remember keeps the node's processes if they run under the library, so that
// what it leaves of them can be taken away.
func (s *shifting) remember(n *cluster.Node) error {
	processes := []server.ProcessID{{PID: n.PID()}}
	if n.Running() {
		var err error
		if processes, err = n.Processes(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shifted = append(s.shifted, processes...)
	return nil
}

// proof is that the server's process was told the offset and has the library
// in its memory. What its clock says only the server itself knows.
func (s *shifting) proof(context.Context, bool) (sight, error) {
	var mu sync.Mutex
	proven := true
	text, err := looked(s.nodes, func(n *cluster.Node) (string, error) {
		var shifted string
		var err error
		running := n.Running()
		if running {
			shifted, err = underFaketime(n.PID())
		}
		mu.Lock()
		proven = proven && shifted != ""
		mu.Unlock()
		if !running {
			return "the server is down", nil
		}
		if err != nil {
			return "", err
		}
		if shifted == "" {
			return fmt.Sprintf("process %d does not run under libfaketime", n.PID()), nil
		}
		return fmt.Sprintf("process %d runs under libfaketime with %s", n.PID(), shifted), nil
	})
	return sight{proven: proven && err == nil, text: text}, err
}

// underFaketime returns the process's FAKETIME variable if it has the library
// loaded.
func underFaketime(pid int) (string, error) {
	folder := fmt.Sprintf("/proc/%d/", pid)
	environment, err := os.ReadFile(folder + "environ")
	if err != nil {
		return "", err
	}
	maps, err := os.ReadFile(folder + "maps")
	if err != nil {
		return "", err
	}
	if !bytes.Contains(maps, []byte("/libfaketime")) {
		return "", nil
	}
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if strings.HasPrefix(variable, "FAKETIME=") {
			return variable, nil
		}
	}
	return "", nil
}

func (s *shifting) undo(context.Context) error { return nil }

// confirm also takes away what the library has left of processes that were
// killed.
func (s *shifting) confirm(ctx context.Context) (string, error) {
	text, err := s.right(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return text, errors.Join(err, tidy(s.shifted))
}

// right starts the servers with the right clock.
func (s *shifting) right(ctx context.Context) (string, error) {
	return looked(s.nodes, func(n *cluster.Node) (string, error) {
		text, err := startAgain(ctx, n)
		if err != nil {
			return "", err
		}
		shifted, err := underFaketime(n.PID())
		if err == nil && shifted != "" {
			err = fmt.Errorf("process %d still runs under libfaketime", n.PID())
		}
		return text + " with its clock right", err
	})
}
