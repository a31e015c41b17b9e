//go:build linux

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// measured is a row with its measurements, a pair each.
type measured struct {
	row
	ours, theirs []figures
}

// ratios are those of the pairs, ours by theirs, in ascending order.
func (m *measured) ratios() (all []float64) {
	for i := range m.theirs {
		all = append(all, m.ours[i].rate/m.theirs[i].rate)
	}
	slices.Sort(all)
	return all
}

// order puts what we lose before what we win, and what has nobody to compete with last.
func (m *measured) order() float64 {
	if all := m.ratios(); len(all) > 0 {
		return median(all)
	}
	return math.Inf(1)
}

// line is the row of the table. Ratios are rounded down.
func (m *measured) line() string {
	ratio := "-"
	if all := m.ratios(); len(all) > 0 {
		ratio = fmt.Sprintf("%.2f (%.2f to %.2f)", down(median(all)), down(all[0]), down(all[len(all)-1]))
	}
	side := func(all []figures) (rate, cpu, peak string) {
		if len(all) == 0 {
			return "-", "-", "-"
		}
		figure := func(of func(figures) float64, digits int) string {
			var values []float64
			for _, f := range all {
				values = append(values, of(f))
			}
			slices.Sort(values)
			if x := median(values); x > 0 {
				return fmt.Sprintf("%.*f", digits, x)
			}
			return "-"
		}
		return figure(func(f figures) float64 { return f.rate }, 0), figure(func(f figures) float64 { return f.cpu }, 2),
			figure(func(f figures) float64 { return f.peak }, 0)
	}
	rate, cpu, peak := side(m.ours)
	theirRate, theirCPU, theirPeak := side(m.theirs)
	return strings.Join([]string{"", m.name, cmp.Or(m.row.theirs.name, "-"), ratio, rate, theirRate, cpu, theirCPU, peak, theirPeak, m.reach, ""}, " | ")
}

func down(x float64) float64 { return math.Floor(x*100) / 100 }

// median is that of sorted values.
func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// printTable prints the machine and all rows.
func printTable(ctx context.Context, out io.Writer, all []measured) error {
	machine, err := exec.CommandContext(ctx, "sh", "-c", `grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'; uname -sr; uptime | sed 's/.*load/load/'`).Output()
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b measured) int { return cmp.Compare(a.order(), b.order()) })
	fmt.Fprintf(out, "%d processors of %s; %s\n\n", runtime.NumCPU(), strings.Join(strings.Split(strings.TrimSpace(string(machine)), "\n"), "; "), runtime.Version())
	fmt.Fprintln(out, "| What | Beside | Ratio (range of pairs) | assay, a second | theirs | assay's client, µs an operation | theirs | assay's peak MiB | theirs | To reach |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|---|---|---|")
	for _, m := range all {
		fmt.Fprintln(out, strings.TrimSpace(m.line()))
	}
	return nil
}
