package postgres

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"assay/cluster/server"
	"assay/internal/wait"
)

// reapBound is how long a start waits for the system's first process to take note of a
// process that has ended; some look for such every other second.
const reapBound = 10 * time.Second

// lockFile names the process whose data it is.
func (p *Server) lockFile() string { return filepath.Join(p.data(), "postmaster.pid") }

// awaitReaped returns when the process in the lock file that a killed server left has an id
// that no longer answers, or when it runs. One that has ended answers for as long as nobody
// has taken note of its end, and PostgreSQL refuses to start beside it. That is nobody's
// child here: a server that pg_rewind started, and that was killed with it.
func (p *Server) awaitReaped(ctx context.Context) error {
	text, err := os.ReadFile(p.lockFile())
	switch {
	case err != nil:
		return nil // none, or one that the server itself complains of
	case len(text) == 0 && p.cut: // whose process was killed before it wrote its id
		return os.Remove(p.lockFile())
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil || pid == 0 {
		return nil
	}
	pid = max(pid, -pid) // negative of a server in single-user mode
	for began := time.Now(); time.Since(began) < reapBound; {
		process, err := os.FindProcess(pid)
		if err != nil || process.Signal(syscall.Signal(0)) != nil || server.Identify(pid).Alive() {
			return nil
		}
		if err := wait.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
