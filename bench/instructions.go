//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// counted is a driver at a fixed number of operations with a fixed seed, by one client.
type counted struct {
	name string
	// before makes the file address.
	before, after, workload string
	// times is how many times the operations of other drivers are done, where an operation takes so few
	// instructions that those of the run itself, which differ by a million, would be a part of the
	// difference; 0 is once.
	times int
}

// countedDrivers are all of them; those whose servers take long to start stand last.
func countedDrivers() []counted {
	const bank, entity = "bank --accounts 1000 --audits 0", "entity --entities 100"
	return []counted{
		{"null", `echo null:// > address`, "", bank, 100},
		{"sqlite", `echo sqlite:bank.db > address`, "", bank, 0},
		{"postgres", `up postgres:1`, `down`, bank, 0},
		{"postgres, tpcb", `up postgres:1`, `down`, "tpcb", 0},
		{"mysql", `up mariadb:1`, `down`, bank, 0},
		{"redis", `up redis:1`, `down`, bank, 0},
		{"mongodb", `up mongodb:1`, `down`, bank, 0},
		{"etcd", `up etcd:1`, `down`, bank, 0},
		{"rest", serveUp, serveDown, entity, 0},
		{"mem", `echo mem:// > address`, "", bank, 10},
		{"cassandra", `up cassandra:1`, `down`, entity, 0},
	}
}

// The operations of the two runs whose difference is counted, so that starting, loading and
// what is done once are left out.
const fewer, more = 200, 1200

// counting is a run whose instructions are printed, by valgrind's cachegrind without its caches
// (callgrind, which follows calls, ends in an assertion of its own where Go changes stacks).
// What goes by the clock would differ the more the busier the machine is. So a process namespace
// of its own, where there may be one, leaves nothing to see for the looks at what else works on
// the machine; with one processor nothing spins; nothing is collected; and counted are functions
// of the engine, the workload, the driver and its libraries alone, not those of Go's runtime and
// standard library, of the figures and of the report.
const counting = `alone="unshare --pid --fork --kill-child --mount-proc"
	test "$(id -u)" = 0 || alone="$alone --map-root-user"
	$alone true 2> /dev/null || alone=
	export GOMAXPROCS=1 GODEBUG=asyncpreemptoff=1 GOGC=off
	$alone valgrind -q --tool=cachegrind --cache-sim=no --cachegrind-out-file=count \
		"$COUNTED" run $WORKLOAD --db "$(cat address)" --clients 1 --seed 42 --ops "$OPERATIONS" \
		--no-server-stats --timeout 60s --connect-timeout 60s --quiet --out counted > /dev/null || test $? = 4
	rm -rf counted
	awk '/^fn=/ { counts = /^fn=(assay\/(driver|workload|load|history|store)|[a-z0-9.]+[.][a-z]+\/)/ && !/HdrHistogram|gonum/ }
		/^[0-9]/ && counts { n += $2 } END { printf "instructions %.0f\n", n }' count`

// Beyond shown a ratio stands in bold, and beyond allowed count returns an error. One program
// differed from itself by 0.7 % at most.
const shown, allowed = 1.02, 1.05

// count counts the client's instructions of an operation of each chosen driver by the program
// before and the one to measure in turn, and prints them as a table. They hardly differ on a busy
// machine, and other work only adds to them: so the least of each is compared. What has grown
// beyond what is allowed is counted once more, and errGrown names what has then. A driver that
// cannot be measured here is named on standard error.
func (o options) count(ctx context.Context, out io.Writer, s *shell, chosen func(string) bool) error {
	var grown []string
	fmt.Fprintf(out, "| Driver | Instructions an operation, before | now | now by before |\n|---|---|---|---|\n")
	for _, d := range countedDrivers() {
		if !chosen(d.name) {
			continue
		}
		before, now, err := o.countDriver(ctx, s, d)
		if err == nil && now[0] > allowed*before[0] {
			var again, andNow []float64
			again, andNow, err = o.countDriver(ctx, s, d)
			before, now = slices.Sorted(slices.Values(append(before, again...))), slices.Sorted(slices.Values(append(now, andNow...)))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s is left out: %v\n", d.name, err)
			continue
		}
		ratio := fmt.Sprintf("%.3f", now[0]/before[0])
		if now[0] > shown*before[0] {
			ratio = "**" + ratio + "**"
		}
		if now[0] > allowed*before[0] {
			grown = append(grown, d.name)
		}
		fmt.Fprintf(out, "| %s | %.0f (to %.0f) | %.0f (to %.0f) | %s |\n", d.name, before[0], before[len(before)-1], now[0], now[len(now)-1], ratio)
	}
	if len(grown) > 0 {
		return fmt.Errorf("%w: %s", errGrown, strings.Join(grown, ", "))
	}
	return nil
}

// errGrown is of a program whose client takes more instructions than is allowed.
var errGrown = fmt.Errorf("an operation takes more than %.0f %% more of the client's instructions", 100*(allowed-1))

// countDriver gives the counts by both programs, in ascending order.
func (o options) countDriver(ctx context.Context, s *shell, d counted) (before, now []float64, err error) {
	// A run replaces what the last one has left: the first counted run, too, shall find that of more.
	first := "\nwork " + d.workload + ` --db "$(cat address)" --clients 1 --warmup 0s --ops ` + strconv.Itoa(more) + ` > /dev/null`
	err = s.between(ctx, d.before+first, d.after, func() error {
		for range o.pairs {
			first, err := s.instructions(ctx, o.before, d)
			if err != nil {
				return err
			}
			second, err := s.instructions(ctx, o.program, d)
			if err != nil {
				return err
			}
			before, now = append(before, first), append(now, second)
		}
		return nil
	})
	slices.Sort(before)
	slices.Sort(now)
	return before, now, err
}

// instructions are those of an operation by a program.
func (s *shell) instructions(ctx context.Context, program string, d counted) (float64, error) {
	times := max(1, d.times)
	var counts [2]float64
	for i, operations := range [...]int{fewer, more} {
		in := shell{s.folder, slices.Concat(s.variables, []string{"COUNTED=" + program, "WORKLOAD=" + d.workload, "OPERATIONS=" + strconv.Itoa(times*operations)})}
		text, _, err := in.output(ctx, counting)
		if err != nil {
			return 0, err
		}
		if counts[i], err = number(text, `instructions ([0-9]+)`); err != nil {
			return 0, err
		}
	}
	if counts[1] <= counts[0] {
		return 0, fmt.Errorf("%s has no names of functions; build it without -ldflags -s", program)
	}
	return (counts[1] - counts[0]) / float64(times*(more-fewer)), nil
}
