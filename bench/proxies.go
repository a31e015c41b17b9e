//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A way leads pgbench to PostgreSQL. Its command starts what passes bytes on at PORT, in the background,
// and leaves its process in the file pid and the address for clients in the file through. The first
// way leads there directly.
type way struct{ name, start string }

// proxied makes the file through.
const proxied = `
	echo $! > pid
	sed "s|@[^/]*/|@127.0.0.1:$PORT/|" address > through
	for i in $(seq 100); do psql -Atc 'SELECT 1' "$(cat through)" > /dev/null 2>&1 && exit; sleep 0.1; done
	cat proxy >&2; exit 1`

func ways() []way {
	return []way{
		{"nothing between", `rm -f pid; cp address through`},
		{"PgBouncer, session pooling", `{
			echo '[databases]'; parts '* = host=\3 port=\4 user=\1 password=\2'
			printf '%s\n' '[pgbouncer]' 'listen_addr = 127.0.0.1' "listen_port = $PORT" 'unix_socket_dir =' 'auth_type = any' \
				'pool_mode = session' 'max_client_conn = 2000' 'default_pool_size = 2000'
		} > pgbouncer.ini
		as=; test "$(id -u)" != 0 || { as='-u nobody'; chmod a+rx .; }
		pgbouncer $as pgbouncer.ini > proxy 2>&1 &` + proxied},
		{"Toxiproxy, no toxics", `parts '[{"name": "p", "listen": "127.0.0.1:'$PORT'", "upstream": "\3:\4", "enabled": true}]' > toxiproxy.json
		LOG_LEVEL=error "$programs/toxiproxy-server" -port 0 -config toxiproxy.json > proxy 2>&1 &` + proxied},
		{"a relay in Go that looks at nothing", `./relay "127.0.0.1:$PORT" "$(parts '\3:\4')" > proxy 2>&1 &` + proxied},
		{"assay app --serve", `"$ASSAY" app --serve "127.0.0.1:$PORT" --control 127.0.0.1:0 --db "$(cat address)" > proxy 2>&1 &` + proxied},
	}
}

// passage is what a way was measured at.
type passage struct {
	rate      float64 // round trips a second of 16 connections
	processor float64 // of the proxy, in microseconds a round trip
	p50, p99  float64 // microseconds, of one connection
	memory    float64 // resident with 1,000 idle connections, MiB
}

// pass measures all ways in turn, as often as pairs are, and prints a table of medians.
func (o options) pass(ctx context.Context, out io.Writer, s *shell) error {
	passages := make([][]passage, len(ways()))
	err := s.between(ctx, `up postgres:1,set.max_connections=1100
		pgbench -i -q -s 1 "$(cat address)" 2> initialized || { cat initialized; exit 1; }
		printf 'SELECT 1;\n\\sleep 10 s\n' > idle.sql # PgBouncer has a connection to the server from the first statement on
		(cd "$HERE/bench" && CGO_ENABLED=0 go build -trimpath -o "$OLDPWD/relay" ./rivals/relay)`, `down`, func() error {
		for round := range o.pairs {
			for i, w := range ways() {
				p, err := w.measure(ctx, s, round)
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				passages[i] = append(passages[i], p)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "| Between pgbench and PostgreSQL | Round trips a second, 16 connections | Processor of it, µs a round trip (range) | p50 and p99 of one connection, µs | more than direct | MiB with 1,000 idle connections |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|")
	middle := func(i int, of func(passage) float64) (median, least, most float64) {
		var all []float64
		for _, p := range passages[i] {
			all = append(all, of(p))
		}
		slices.Sort(all)
		return all[len(all)/2], all[0], all[len(all)-1]
	}
	for i, w := range ways() {
		rate, _, _ := middle(i, func(p passage) float64 { return p.rate })
		cpu, least, most := middle(i, func(p passage) float64 { return p.processor })
		p50, _, _ := middle(i, func(p passage) float64 { return p.p50 })
		p99, _, _ := middle(i, func(p passage) float64 { return p.p99 })
		direct50, _, _ := middle(0, func(p passage) float64 { return p.p50 })
		direct99, _, _ := middle(0, func(p passage) float64 { return p.p99 })
		fmt.Fprintf(out, "| %s | %.0f | %.1f (%.1f–%.1f) | %.0f, %.0f | %.0f, %.0f | %.0f |\n", w.name, rate, cpu, least, most, p50, p99, p50-direct50, p99-direct99, passages[i][0].memory)
	}
	return nil
}

// measure starts what is between, measures it, and ends it. Its memory is measured in the first round.
func (w way) measure(ctx context.Context, s *shell, round int) (p passage, err error) {
	port := strconv.Itoa(20_000 + os.Getpid()%10_000 + round)
	err = s.between(ctx, "PORT="+port+"\n"+w.start, `test ! -e pid || { kill "$(cat pid)"; while kill -0 "$(cat pid)" 2> /dev/null; do sleep 0.1; done; rm pid; }`, func() error {
		if round == 0 && w != ways()[0] {
			idle, err := s.number(ctx, `ulimit -n 8192
				pgbench -n -c 1000 -j 2 -t 1 -f idle.sql "$(cat through)" > idle 2>&1 & idle=$!
				for i in $(seq 600); do
					test "$(psql -Atc "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pgbench'" "$(cat address)")" -lt 1000 || break; sleep 0.1
				done
				sleep 1
				awk '/^VmRSS/ { print "found", $2 / 1024 }' "/proc/$(cat pid)/status"
				wait $idle || { cat idle >&2; exit 1; }`, `found ([0-9.]+)`)
			if err != nil {
				return err
			}
			p.memory = idle
		}
		before, err := s.processorTime()
		if err != nil {
			return err
		}
		text, _, err := s.output(ctx, `pgbench -n -S -c 16 -T "$SECONDS_EACH" "$(cat through)"`)
		if err != nil {
			return err
		}
		after, err := s.processorTime()
		if err != nil {
			return err
		}
		trips, err := number(text, `actually processed: ([0-9]+)`)
		if err != nil {
			return err
		}
		p.processor = float64((after - before).Microseconds()) / trips
		if p.rate, err = number(text, `tps = ([0-9.]+)`); err != nil {
			return err
		}
		text, _, err = s.output(ctx, `rm -f one.*
			pgbench -n -S -c 1 -T "$SECONDS_EACH" -l --log-prefix=one "$(cat through)" > told
			cut -d' ' -f3 one.* | sort -n | awk '{ all[NR] = $1 } END { print "p50", all[int(NR * 0.5) + 1]; print "p99", all[int(NR * 0.99) + 1] }'`)
		if err != nil {
			return err
		}
		var err50, err99 error
		p.p50, err50 = number(text, `p50 ([0-9.]+)`)
		p.p99, err99 = number(text, `p99 ([0-9.]+)`)
		return errors.Join(err50, err99)
	})
	return p, err
}

// number does a command and finds a figure in what it prints.
func (s *shell) number(ctx context.Context, text, expression string) (float64, error) {
	out, _, err := s.output(ctx, text)
	if err != nil {
		return 0, err
	}
	return number(out, expression)
}

// processorTime is how much of it the process in the file pid has used; 0 without one.
func (s *shell) processorTime() (time.Duration, error) {
	pid, err := os.ReadFile(filepath.Join(s.folder, "pid"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name
	fields := strings.Fields(rest)
	user, errUser := strconv.Atoi(fields[11])
	system, errSystem := strconv.Atoi(fields[12])
	const tick = 10 * time.Millisecond // USER_HZ
	return time.Duration(user+system) * tick, errors.Join(errUser, errSystem)
}
