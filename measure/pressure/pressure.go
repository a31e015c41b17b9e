// Package pressure describes what else was at work on this machine while a run was
// measured: other processes, the host of a virtual machine, and how long tasks
// stalled for want of something. It reads /proc, so that nothing is known on
// other systems than Linux.
//
// It knows nothing of runs and databases.
package pressure

import (
	"cmp"
	"context"
	"os"
	"slices"
	"time"

	"assay/internal/procfs"
)

// Usage is what worked on this machine over a span. Shares are of all that its
// processors could give, 0 to 1.
type Usage struct {
	// CPUs is how many processors the machine has, Seconds how long the span was.
	CPUs    int     `json:"cpus"`
	Seconds float64 `json:"seconds"`
	// Tester is this process, Servers the database's servers, and Others the
	// processes that are neither. The kernel's own threads are in none.
	Tester  float64 `json:"tester_share"`
	Servers float64 `json:"servers_share"`
	Others  float64 `json:"others_share"`
	// Perhaps is the share of processes that may be the database's servers, where
	// it cannot be told for certain.
	Perhaps float64 `json:"perhaps_servers_share"`
	// Unseen is the share of processes that ended before they were seen, or that
	// cannot be seen from here, such as those outside of a container.
	Unseen float64 `json:"unseen_share"`
	// Steal is what the host of a virtual machine gave to others.
	Steal float64 `json:"steal_share"`
	// Processes are Others by name, the busiest first, at most maxNamed.
	Processes []Process `json:"processes"`
	// StallCPU, StallIO and StallMemory are the shares of the time in which some
	// task stalled for want of it (PSI, Documentation/accounting/psi.rst of
	// Linux); -1 where the system does not tell.
	StallCPU    float64 `json:"stalled_cpu_share"`
	StallIO     float64 `json:"stalled_io_share"`
	StallMemory float64 `json:"stalled_memory_share"`
}

// Process is all processes of one name.
type Process struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// Database describes which processes belong to the database.
type Database struct {
	// Perhaps reports whether a process may be one of them that is not known; nil if Servers
	// returns all of them.
	Perhaps func(p procfs.Process) bool
	// Servers returns the processes known to be the database's; it is asked again
	// and again, since servers come and go.
	Servers func() []int
	// Tester returns the processes that are the tester's beside this one; nil for none.
	Tester func() []int
}

const (
	// every is how often processes are looked at, so that little is missed
	// of a process that ends. Where looking takes long it is done less often, so that
	// it takes a hundredth of one processor at most.
	every     = 500 * time.Millisecond
	costliest = 100
	// least is the shortest span that says something: processor time is counted
	// in hundredths of a second.
	least = time.Second
	// maxNamed bounds Usage.Processes.
	maxNamed = 8
)

// Watch looks at the machine until ctx ends. It returns nil if nothing is known:
// on a system without /proc, or of a span of less than a second.
func Watch(ctx context.Context, of Database) *Usage {
	first, known := readMachine()
	if !known {
		return nil
	}
	w := watcher{of: of, self: os.Getpid(), byName: map[string]int64{}}
	begin := time.Now()
	w.look(true)
	for pause := every; ; {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			w.look(false)
			last, still := readMachine()
			if length := time.Since(begin); still && length >= least {
				return w.usage(first, last, length)
			}
			return nil
		case <-timer.C:
		}
		start := time.Now()
		w.look(false)
		pause = max(every, costliest*time.Since(start))
	}
}

// watcher adds up the processor time of processes, in ticks.
type watcher struct {
	of   Database
	self int
	// seen is the processes of the last look.
	seen                                    map[identity]sighting
	tester, servers, perhaps, kernel, other int64
	byName                                  map[string]int64
}

// sighting is a process at a look.
type sighting struct {
	ticks int64
	// server stays true: a session's process that ends while the servers are asked for is in
	// no list any more, and is still the database's.
	server bool
}

// look adds what each process has used since the last look; a new one, since it
// began. At the first look nothing is added.
func (w *watcher) look(first bool) {
	all := readProcesses()
	servers := map[int]bool{}
	for _, pid := range w.of.Servers() {
		servers[pid] = true
	}
	testers := map[int]bool{w.self: true}
	for _, pid := range testersOf(w.of.Tester) {
		testers[pid] = true
	}
	fresh := make(map[identity]sighting, len(all))
	for _, p := range all {
		id := identity{p.PID, p.Started}
		before := w.seen[id]
		now := sighting{ticks: p.Ticks, server: before.server || servers[p.PID]}
		fresh[id] = now
		used := now.ticks - before.ticks
		if first || used <= 0 {
			continue
		}
		switch {
		case testers[p.PID]:
			w.tester += used
		case p.Kernel:
			w.kernel += used
		case now.server:
			w.servers += used
		case w.of.Perhaps != nil && w.of.Perhaps(p):
			w.perhaps += used
		default:
			w.other += used
			w.byName[p.Name] += used
		}
	}
	w.seen = fresh
}

func (w *watcher) usage(first, last machine, length time.Duration) *Usage {
	whole := length.Seconds() * float64(last.cpus)
	share := func(n int64) float64 { return max(float64(n)/procfs.TicksPerSecond/whole, 0) }
	u := &Usage{
		CPUs: last.cpus, Seconds: length.Seconds(), Tester: share(w.tester), Servers: share(w.servers),
		Others: share(w.other), Perhaps: share(w.perhaps), Steal: share(last.steal - first.steal),
		Unseen:   share(last.work - first.work - w.tester - w.servers - w.perhaps - w.kernel - w.other),
		StallCPU: stalled(first, last, "cpu", length), StallIO: stalled(first, last, "io", length),
		StallMemory: stalled(first, last, "memory", length),
	}
	for name, n := range w.byName {
		u.Processes = append(u.Processes, Process{Name: name, Share: share(n)})
	}
	slices.SortFunc(u.Processes, func(a, b Process) int { return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name)) })
	u.Processes = u.Processes[:min(len(u.Processes), maxNamed)]
	return u
}

func stalled(first, last machine, kind string, length time.Duration) float64 {
	before, known := first.stalls[kind]
	after, still := last.stalls[kind]
	if !known || !still {
		return -1
	}
	return max(float64(after-before)/float64(length.Microseconds()), 0)
}

// isServer reports whether a process of this name is a database's server.
func isServer(name string) bool {
	return slices.Contains([]string{"postgres", "postmaster", "mariadbd", "mysqld", "mongod", "mongos", "java", "fdbserver", "cockroach",
		"yb-tserver", "scylla", "redis-server", "etcd"}, name)
}

// isRelay reports whether a process of this name passes on what a database's
// server works that is elsewhere.
func isRelay(name string) bool {
	return slices.Contains([]string{"pgbouncer", "docker-proxy", "haproxy", "proxysql", "ssh", "assay", "rootlessport", "slirp4netns"}, name)
}
