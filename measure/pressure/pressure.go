// Package pressure describes other work on this machine during a measurement: other processes, a
// virtual machine's host, and how long tasks stalled for resources. It reads /proc and knows
// nothing on other systems than Linux.
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
	"assay/internal/wait"
)

// Usage is the work on this machine over a span. Shares are of all its processors, 0 to 1.
type Usage struct {
	CPUs    int     `json:"cpus"`
	Seconds float64 `json:"seconds"`
	// Tester is this process, Servers the database's servers, Others all other processes. The
	// kernel's own threads are in none.
	Tester  float64 `json:"tester_share"`
	Servers float64 `json:"servers_share"`
	Others  float64 `json:"others_share"`
	// Perhaps are processes that may be the database's servers.
	Perhaps float64 `json:"perhaps_servers_share"`
	// Unseen are processes that ended before they were seen, or that are invisible from here,
	// such as outside of a container.
	Unseen float64 `json:"unseen_share"`
	// Steal is what a virtual machine's host gave to others.
	Steal float64 `json:"steal_share"`
	// Processes are Others by name, the busiest first, at most maxNamed.
	Processes []Process `json:"processes"`
	// StallCPU, StallIO and StallMemory are the shares of time in which some task stalled for
	// it (PSI, Documentation/accounting/psi.rst of Linux); -1 if unknown.
	StallCPU    float64 `json:"stalled_cpu_share"`
	StallIO     float64 `json:"stalled_io_share"`
	StallMemory float64 `json:"stalled_memory_share"`
}

// Process is all processes of one name.
type Process struct {
	Name  string  `json:"name"`
	Share float64 `json:"share"`
}

// Database tells which processes belong to the database.
type Database struct {
	// Perhaps reports whether an unknown process may be a server; nil if Servers returns all.
	Perhaps func(p procfs.Process) bool
	// Servers returns the known servers. It is called repeatedly, since servers come and go.
	Servers func() []int
	// Tester returns the tester's other processes; nil for none.
	Tester func() []int
}

const (
	// every is the time between looks, short enough to miss little of a process that ends. It
	// grows if looking is slow, which may take a hundredth of one processor.
	every     = 500 * time.Millisecond
	costliest = 100
	// least is the shortest useful span, since processor time comes in hundredths of a second.
	least    = time.Second
	maxNamed = 8
)

// Watch observes the machine until ctx ends. It returns nil without /proc or for a span of less
// than a second.
func Watch(ctx context.Context, of Database) *Usage {
	first, known := readMachine()
	if !known {
		return nil
	}
	w := watcher{of: of, self: os.Getpid(), byName: map[string]int64{}}
	begin := time.Now()
	w.look(true)
	for pause := every; wait.Pause(ctx, pause) == nil; {
		start := time.Now()
		w.look(false)
		pause = max(every, costliest*time.Since(start))
	}
	w.look(false)
	last, still := readMachine()
	if length := time.Since(begin); still && length >= least {
		return w.usage(first, last, length)
	}
	return nil
}

type watcher struct {
	of                                      Database
	self                                    int
	seen                                    map[procfs.ID]sighting
	tester, servers, perhaps, kernel, other int64
	byName                                  map[string]int64
}

type sighting struct {
	ticks int64
	// server stays true: a session's process that ends while the servers are listed is in no list
	// and still the database's.
	server bool
}

// look adds what each process used since the last look or, if new, since it began. The first look
// adds nothing.
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
	fresh := make(map[procfs.ID]sighting, len(all))
	for _, p := range all {
		id := p.ID()
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

func isServer(name string) bool {
	return slices.Contains([]string{"postgres", "postmaster", "mariadbd", "mysqld", "mongod", "mongos", "java", "fdbserver", "cockroach",
		"yb-tserver", "scylla", "redis-server", "etcd"}, name)
}

// isRelay reports whether a process of this name may relay to a server elsewhere.
func isRelay(name string) bool {
	return slices.Contains([]string{"pgbouncer", "docker-proxy", "haproxy", "proxysql", "ssh", "assay", "rootlessport", "slirp4netns"}, name)
}
