//go:build linux

// Command bench compares assay with the tools that people would use instead, on this
// machine: each row of its table is measured in pairs, ours and theirs in turn, so that a
// machine that slows down slows both. What it compares with comes from the system's
// packages (`make bench` installs them).
//
//	go -C bench run . -pairs 5 -rows 'bank|null'
//	go -C bench run . -growth 100000000 -rows '^run' -chart $PWD/growth.svg
//	go -C bench run . -before OTHER -rows sqlite -pairs 3
//	go -C bench run . -proxies
//
// It prints a table in Markdown: medians, the ratio of each pair as median and range, the
// processor time of the client for each operation, and its peak memory. With -before it counts
// instructions, see count.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
)

func main() {
	var o options
	flag.IntVar(&o.pairs, "pairs", 5, "how often each row is measured")
	flag.IntVar(&o.seconds, "seconds", 8, "how long a measurement of load takes")
	flag.StringVar(&o.program, "assay", "", "the program to measure; without it, it is built")
	flag.IntVar(&o.largest, "growth", 0, "measure how the cost of load, run and check grows from 10^5 up to this size, in place of the rows")
	flag.StringVar(&o.before, "before", "", "count the client's instructions of each driver, of this program and of the one to measure, in place of the rows")
	flag.StringVar(&o.chart, "chart", "", "with -growth: a file to draw the chart of it in, as SVG")
	flag.BoolVar(&o.proxies, "proxies", false, "measure what stands between an application and its database, beside others that do, in place of the rows")
	names := flag.String("rows", ".", "the rows whose names match this regular expression")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	chosen, err := regexp.Compile(*names)
	if err == nil {
		err = o.run(ctx, chosen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		if errors.Is(err, errGrown) {
			os.Exit(3)
		}
		os.Exit(1)
	}
}

type options struct {
	pairs, seconds  int
	largest         int
	program, before string
	chart           string
	proxies         bool
}

// run measures the chosen rows in a folder that is removed afterwards.
func (o options) run(ctx context.Context, chosen *regexp.Regexp) (err error) {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "assay-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	absolute(here, &o.program)
	absolute(here, &o.before)
	build := o.program == ""
	o.program = cmp.Or(o.program, filepath.Join(work, "assay"))
	s := &shell{folder: work, variables: append(os.Environ(), "FILES="+filepath.Join(here, "rivals"),
		"HERE="+filepath.Dir(here), "ASSAY="+o.program, "SECONDS_EACH="+strconv.Itoa(o.seconds))}
	if build {
		if err := s.do(ctx, `cd "$HERE" && CGO_ENABLED=0 go build -trimpath -o "$ASSAY" ./cmd/assay`); err != nil {
			return err
		}
	}
	if o.before != "" {
		return o.count(ctx, os.Stdout, s, chosen.MatchString)
	}
	if o.proxies {
		return o.pass(ctx, os.Stdout, s)
	}
	if o.largest > 0 {
		return o.grow(ctx, os.Stdout, s, chosen.MatchString)
	}
	var all []measured
	for _, r := range rows() {
		if !chosen.MatchString(r.name) {
			continue
		}
		m, err := o.measure(ctx, s, r)
		if err != nil {
			return fmt.Errorf("row %q: %w", r.name, err)
		}
		all = append(all, m)
		fmt.Fprintln(os.Stderr, m.line())
	}
	return printTable(ctx, os.Stdout, all)
}

// absolute makes a path, if there is one, independent of the folder.
func absolute(here string, path *string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(here, *path)
	}
}

// measure measures one row in pairs.
func (o options) measure(ctx context.Context, s *shell, r row) (m measured, err error) {
	m.row = r
	err = s.between(ctx, r.before, r.after, func() error {
		for range o.pairs {
			ours, err := s.measure(ctx, r.ours)
			if err != nil {
				return fmt.Errorf("assay: %w", err)
			}
			m.ours = append(m.ours, ours)
			if r.theirs.run == "" {
				continue
			}
			theirs, err := s.measure(ctx, r.theirs)
			if err != nil {
				return fmt.Errorf("%s: %w", r.theirs.name, err)
			}
			m.theirs = append(m.theirs, theirs)
		}
		return nil
	})
	return m, err
}
