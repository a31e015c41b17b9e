//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
)

// A stage is measured at sizes of 10^5 on, each ten times the one before. Its commands find
// the size in SIZE; see row for the rest.
type stage struct {
	name string
	// most is the largest size that it is measured at.
	most int
	// whole is true if the whole command is what is measured.
	whole bool
	side  side
}

const smallest = 100_000

func stages() []stage {
	return []stage{
		{name: "load: accounts into SQLite", most: 10_000_000, side: side{read: readLoading,
			run: `work bank --db sqlite:grown.db --accounts "$SIZE" --ops 100 --warmup 0s
				rm -f grown.db*`}},
		{name: "run: transfers on the null store, 16 clients, recorded on disk", most: 100_000_000, side: side{read: readRun,
			run: `work bank --db null:// --clients 16 --ops "$SIZE" --warmup 0s`}},
		{name: "check: a saved run of transfers, all checks, files read included", most: 10_000_000, whole: true, side: side{
			prepare: `rm -rf saved && { "$ASSAY" run bank --db mem:// --clients 16 --accounts 100000 --ops "$SIZE" --warmup 0s --quiet \
				--out saved > saved.txt || test $? = 4; }`,
			run: `"$ASSAY" check saved > /dev/null || test $? = 4`}},
	}
}

// grow measures how the cost of each chosen stage grows up to a size, prints a table and,
// where a file is named for it, draws a chart.
func (o options) grow(ctx context.Context, out io.Writer, s *shell, chosen func(string) bool) error {
	fmt.Fprintln(out, "| What | Size | Seconds | Client's processor, µs each | Peak MiB | Bytes of memory each | Slope of time, of memory |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	var chart growthChart
	for _, x := range stages() {
		if !chosen(x.name) {
			continue
		}
		var before figures
		line := growthLine{name: x.name}
		for n := smallest; n <= min(x.most, o.largest); n *= 10 {
			s.variables = append(s.variables, "SIZE="+strconv.Itoa(n)) // the last one counts
			if x.whole {
				x.side.read = readTime(float64(n))
			}
			f, err := s.measure(ctx, x.side)
			if err != nil {
				return fmt.Errorf("%s at %d: %w", x.name, n, err)
			}
			fmt.Fprintln(out, grown(x.name, n, f, before))
			before = f
			line.points = append(line.points, growthPoint{float64(n), float64(n) / f.rate, f.peak})
		}
		chart.lines = append(chart.lines, line)
	}
	if o.chart == "" {
		return nil
	}
	return os.WriteFile(o.chart, []byte(chart.svg()), 0o644)
}

// grown is a row of the table. A slope of 1 is linear: ten times the work in ten times the
// time.
func grown(name string, n int, f, before figures) string {
	slope := "-"
	if before.rate > 0 {
		slope = fmt.Sprintf("%.2f, %.2f", 1+math.Log10(before.rate/f.rate), math.Log10(f.peak/before.peak))
	}
	cpu := "-"
	if f.cpu > 0 {
		cpu = fmt.Sprintf("%.2f", f.cpu)
	}
	return fmt.Sprintf("| %s | 10^%.0f | %.1f | %s | %.0f | %.0f | %s |", name, math.Log10(float64(n)), float64(n)/f.rate, cpu,
		f.peak, f.peak*(1<<20)/float64(n), slope)
}
