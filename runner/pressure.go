package runner

import (
	"context"
	"net"
	"strings"
	"time"

	"assay/load"
	"assay/measure/pressure"
)

// watchMachine measures other work on this machine during the measured part of a load that
// begins at start. stop returns nil if nothing is known.
func watchMachine(ctx context.Context, plan load.Plan, start time.Time, rounds bool, of func() pressure.Database) (stop func() *pressure.Usage) {
	ctx, cancel := context.WithCancel(ctx)
	if !rounds {
		start = start.Add(plan.Warmup)
		if plan.Ops == 0 {
			ctx, cancel = context.WithDeadline(ctx, start.Add(plan.Duration))
		}
	}
	found := make(chan *pressure.Usage, 1)
	go func() {
		database := of()
		select {
		case <-ctx.Done():
			found <- nil
		case <-time.After(time.Until(start)):
			found <- pressure.Watch(ctx, database)
		}
	}()
	return func() *pressure.Usage { cancel(); return <-found }
}

// hostPorts returns the servers of an address, each host:port; none if the address names none,
// such as a socket in the file system.
func hostPorts(address string) []string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return nil
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	rest = rest[strings.LastIndexByte(rest, '@')+1:]
	ports := map[string]string{
		"postgres": "5432", "postgresql": "5432", "mysql": "3306", "mariadb": "3306", "mongodb": "27017", "cassandra": "9042",
		"redis": "6379", "rediss": "6379", "redis+sentinel": "26379", "rediss+sentinel": "26379", "redis+cluster": "6379", "rediss+cluster": "6379", "etcd": "2379",
		"http": "80", "https": "443",
	}
	var all []string
	for host := range strings.SplitSeq(rest, ",") {
		if host == "" {
			continue
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), ports[scheme])
		}
		all = append(all, host)
	}
	return all
}
