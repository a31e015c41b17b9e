//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// shell runs the commands of rows, with sh, in one folder.
type shell struct {
	folder    string
	variables []string
}

// words are what the commands of rows have of the shell.
const words = `
# programs is the folder where scripts/install-servers.sh puts them.
programs=${ASSAY_SERVERS:-${XDG_CACHE_HOME:-$HOME/.cache}/assay/servers}/bin
# up SPEC starts servers with the settings that assay's clusters have; address has their
# address, and parts FORM is its user, password, host, port and database as \1 to \5. down ends them.
up() {
	rm -f cluster
	"$ASSAY" cluster up "$1,network=loopback" > up
	sed -n 's/^end it:  assay cluster down //p' up > cluster
	eval "$(sed -n 's/^use it:  //p' up)"
	echo "$ASSAY_DB" > address
}
parts() { sed "s|.*://\([^:]*\):\([^@]*\)@\([^:]*\):\([0-9]*\)/\([^?]*\).*|$1|" address; }
down() { test ! -e cluster || "$ASSAY" cluster down "$(cat cluster)"; }
# work WORKLOAD ... is a run whose result is printed. That its figures are invalid is no error.
work() {
	"$ASSAY" run "$@" --no-server-stats --json --quiet --out worked || test $? = 4
	rm -rf worked
}
`

// figures are those of one measurement.
type figures struct {
	rate float64 // operations a second
	cpu  float64 // of the client, microseconds an operation
	peak float64 // resident memory of the client, MiB
}

// do runs a command whose output is of interest only if it fails.
func (s *shell) do(ctx context.Context, text string) error {
	_, _, err := s.output(ctx, text)
	return err
}

// output runs a command, and returns what it printed on standard output.
func (s *shell) output(ctx context.Context, text string) (out []byte, used *syscall.Rusage, err error) {
	cmd := exec.CommandContext(ctx, "sh", "-euc", words+text)
	cmd.Dir, cmd.Env = s.folder, s.variables
	var faults bytes.Buffer
	cmd.Stderr = &faults
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that what the shell waits for is told, too
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	out, err = cmd.Output()
	if cmd.ProcessState != nil {
		used, _ = cmd.ProcessState.SysUsage().(*syscall.Rusage)
	}
	if err != nil {
		return out, used, fmt.Errorf("%w\n%s\n%s%s", err, text, tail(out), tail(faults.Bytes()))
	}
	return out, used, nil
}

// between does work between two commands. The last is also done after an interrupt, and after
// half of the first.
func (s *shell) between(ctx context.Context, before, after string, work func() error) (err error) {
	if after != "" {
		defer func() { err = errors.Join(err, s.do(context.WithoutCancel(ctx), after)) }()
	}
	if err := s.do(ctx, before); err != nil {
		return err
	}
	return work()
}

func tail(text []byte) []byte { return text[max(0, len(text)-2000):] }

// measure prepares one side of a row and measures it.
func (s *shell) measure(ctx context.Context, x side) (figures, error) {
	if x.prepare != "" {
		if err := s.do(ctx, x.prepare); err != nil {
			return figures{}, err
		}
	}
	begun := time.Now()
	out, used, err := s.output(ctx, x.run)
	if err != nil {
		return figures{}, err
	}
	f, operations, err := x.read(out, time.Since(begun))
	if err != nil || used == nil {
		return f, err
	}
	if f.peak == 0 {
		f.peak = float64(used.Maxrss) / 1024
	}
	if f.cpu == 0 && operations > 0 {
		f.cpu = float64(used.Utime.Nano()+used.Stime.Nano()) / 1e3 / operations
	}
	return f, nil
}

// A reader gets the figures out of what a command printed in this time, and how many
// operations it did, if their processor time is to be reckoned from the process's.
type reader func(out []byte, took time.Duration) (f figures, operations float64, err error)

// readRun reads the result of `assay run --json`: figures of the measured part.
func readRun(out []byte, _ time.Duration) (f figures, _ float64, err error) {
	r, err := readResult(out)
	if err != nil {
		return f, 0, err
	}
	f.rate, f.peak = r.Throughput.Rate, r.Client.Peak/(1<<20)
	f.cpu = r.Client.Share * r.Client.CPUs / f.rate * 1e6
	return f, 0, nil
}

// readLoading reads it for how fast it loaded.
func readLoading(out []byte, _ time.Duration) (f figures, _ float64, err error) {
	r, err := readResult(out)
	f.rate, f.peak = r.Loading.Rate, r.Client.Peak/(1<<20)
	return f, 0, err
}

type result struct {
	Throughput struct {
		Rate float64 `json:"committed_per_second"`
	} `json:"throughput"`
	Loading struct {
		Rate float64 `json:"rows_per_second"`
	} `json:"loading"`
	Client struct {
		Share float64 `json:"cpu_share"`
		CPUs  float64 `json:"cpus"`
		Peak  float64 `json:"peak_memory_bytes"`
	} `json:"client"`
}

func readResult(out []byte) (r result, err error) {
	if err := json.Unmarshal(out, &r); err != nil {
		return r, fmt.Errorf("the result of assay cannot be read: %w", err)
	}
	if r.Throughput.Rate <= 0 {
		return r, errors.New("assay measured nothing")
	}
	return r, nil
}

// readText finds a rate in a text and, if there is a second expression, how many
// operations were done.
func readText(rate, count string) reader {
	return func(out []byte, _ time.Duration) (f figures, n float64, err error) {
		if f.rate, err = number(out, rate); err == nil && count != "" {
			n, err = number(out, count)
		}
		return f, n, err
	}
}

// readCounted reads a rate and a count that awk has made of a tool's own text.
func readCounted() reader { return readText(`rate ([0-9.]+)`, `count ([0-9]+)`) }

// readLoop reads what the loops in rivals print: figures of the measured part.
func readLoop(out []byte, _ time.Duration) (f figures, _ float64, err error) {
	if f.rate, err = number(out, `([0-9.]+) operations a second`); err == nil {
		f.cpu, err = number(out, `([0-9.]+) us of the processor`)
	}
	return f, 0, err
}

// number is what the expression's first group finds.
func number(out []byte, expression string) (float64, error) {
	found := regexp.MustCompile(expression).FindSubmatch(out)
	if found == nil {
		return 0, fmt.Errorf("%q is not in: %s", expression, tail(out))
	}
	return strconv.ParseFloat(strings.TrimSpace(string(found[1])), 64)
}

// readTime takes the whole command for so many operations.
func readTime(operations float64) reader {
	return func(_ []byte, took time.Duration) (figures, float64, error) {
		return figures{rate: operations / took.Seconds()}, operations, nil
	}
}
