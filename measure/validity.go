package measure

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"assay/check"
	"assay/history"
	"assay/internal/quantity"
)

// Limits are what a valid measurement must keep.
type Limits struct {
	// MinMeasured is the shortest measured part, MinCommitted the fewest committed operations due
	// in it. With less, percentiles mean nothing.
	MinMeasured  time.Duration
	MinCommitted int64
	// MaxErrorShare is the largest share of failed and unknown operations. Rejected operations
	// are the workload's business.
	MaxErrorShare float64
	// MaxCPUShare is the share of its processors, 0 to 1, at which the client is saturated.
	MaxCPUShare float64
	// MinWait is the 99th percentile of waits for a processor that is compared with the response
	// time's, of which it may be MaxWaitShare. MaxWaitingClients is the largest share of clients
	// that may wait at a time.
	MinWait                         time.Duration
	MaxWaitShare, MaxWaitingClients float64
	// MaxOthers is the largest share of the processors that other processes may use, MaxSteal
	// the host.
	MaxOthers, MaxSteal float64
	// MaxStalled is the largest share of the measured part in which assay may not run.
	MaxStalled float64
	// MaxUnservedShare is the largest share of an open loop's arrivals that may never start.
	MaxUnservedShare float64
	// MaxOwnShareP50 and MaxOwnShareP99 are, in an open loop, the largest shares of the response
	// time's median and 99th percentile that may be the tester's own lateness. Lateness up to
	// OwnLagNoted, which an idle machine can keep, gives only a note.
	MaxOwnShareP50, MaxOwnShareP99 float64
	OwnLagNoted                    time.Duration
	// SteadyMargin is the largest change of throughput and latency over a steady measured part,
	// as a share of their median. A shown change of half of it is a trend. MinSteady is the
	// shortest time judged.
	SteadyMargin float64
	MinSteady    time.Duration
	// MaxHalfWidth is half the width of a throughput's interval, as a share, from which it is
	// called wide.
	MaxHalfWidth float64
	// NoSteadyState is for work that changes by design.
	NoSteadyState bool
}

// DefaultLimits returns the default limits.
func DefaultLimits() Limits {
	return Limits{
		MinMeasured: time.Second, MinCommitted: 100, MaxErrorShare: 0.10, MaxCPUShare: 0.90,
		MinWait: time.Millisecond, MaxWaitShare: 0.5, MaxWaitingClients: 0.5,
		MaxOthers: 0.10, MaxSteal: 0.05, MaxStalled: 0.01, MaxUnservedShare: MaxUnservedShare, MaxOwnShareP50: 0.10, MaxOwnShareP99: 0.25, OwnLagNoted: 50 * time.Microsecond,
		SteadyMargin: 0.20, MinSteady: 10 * time.Second, MaxHalfWidth: 0.10,
	}
}

// Conditions are what a history does not tell of its run.
type Conditions struct {
	// OpenLoop says that operations came at their own times. Only an open loop has Unserved, the
	// arrivals of the measured part that never started, and OwnLagP50Millis and OwnLagP99Millis,
	// how late the tester itself started operations.
	OpenLoop                         bool
	Unserved                         int64
	OwnLagP50Millis, OwnLagP99Millis float64
	// CPUShare is the client's use of its processors over the measured part, 0 to 1; negative if
	// unknown.
	CPUShare float64
	// CPUs is the number of those processors, Clients of the clients on them. SchedulerP99Millis
	// is the 99th percentile of goroutines' waits for a processor, Runnable the average number
	// that wait.
	CPUs, Clients      int
	SchedulerP99Millis float64
	Runnable           float64
	OtherWork          OtherWork
	Embedded           bool
	// AllStarted is when the last client began to work, in nanoseconds since the start of the
	// run. The steady state is judged only after it.
	AllStarted int64
	// Impacts are the effects of faults. With faults, errors and unserved arrivals do not make
	// figures invalid. A steady state is judged outside of faults, and its absence is only a
	// note: a new primary is another machine with its own caches.
	Impacts []Impact
}

// OtherWork is other work on the client's machine, in shares of its processors, 0 to 1; all 0 if
// unknown.
type OtherWork struct {
	// Others are processes that are certainly not the database's. Busiest names the busiest.
	Others  float64
	Busiest string
	// Steal is what a virtual machine's host gave to others.
	Steal float64
	// Perhaps are processes that may be the database's servers, Unseen those that could not be
	// examined.
	Perhaps, Unseen float64
}

// Grade is what figures are worth.
type Grade string

const (
	// Valid figures lie in their intervals, as far as can be told.
	Valid Grade = "valid"
	// Wide figures are valid, with a throughput's interval beyond Limits.MaxHalfWidth.
	Wide Grade = "wide"
	// Invalid figures were shown to measure something else than the database.
	Invalid Grade = "invalid"
)

// Validity says whether figures are a measurement.
type Validity struct {
	Grade Grade
	// Reasons say why the grade is not Valid. Each begins with a few stable words and a colon.
	Reasons    []string
	Notes      []string
	Steadiness Steadiness
	// OwnShares is the tester's own lateness in an open loop's response time; nil in a closed
	// loop and if nothing committed.
	OwnShares *OwnShares
}

// OwnShares are the tester's own lateness divided by the response time, 0 to 1, percentile by
// percentile. Each is an upper bound, since the latest operations need not be the slowest.
type OwnShares struct{ P50, P99 float64 }

// The first words of reasons that OfTester knows.
const (
	clientSaturated = "client saturated:"
	machineBusy     = "machine busy:"
	stalled         = "stalled:"
)

// Judge reports whether the figures are valid.
func Judge(f Figures, c Conditions, limits Limits) Validity {
	steps, positions := f.Steps.WithoutFaults(f.Scope, c.Impacts)
	var v Validity
	if disturbed := len(f.Steps.Committed) - len(positions); disturbed > 0 && len(c.Impacts) > 0 {
		v.note("faults acted, or their outage lasted, in %d of %s of %g s; the steady state is judged by the others",
			disturbed, check.Counted(len(f.Steps.Committed), "interval", "intervals"), f.Steps.Seconds)
	}
	if c.AllStarted > f.Scope.MeasureStart {
		steps, positions = steps.from(positions, c.AllStarted-f.Scope.MeasureStart)
		v.noteRamp(steps, c.AllStarted)
	}
	v.Steadiness = judgeSteadiness(steps, positions, c.OpenLoop, limits)
	v.judgeLength(f, limits)
	if len(c.Impacts) == 0 {
		v.judgeErrors(f.Measured, limits)
	}
	v.judgeStalls(f, limits)
	v.judgeClient(c, limits)
	v.judgeScheduler(f, c, limits)
	v.judgeOthers(c.OtherWork, limits)
	if c.OpenLoop {
		v.judgeSchedule(f, c, limits)
	}
	v.judgeSteadiness(limits, len(c.Impacts) > 0)
	if n := f.Latency.OutOfRange + f.Uncommitted.OutOfRange; n > 0 {
		v.note("%d response times were negative or above %v and count as 0 or as that", n, MaxTrackable)
	}
	v.Grade = Valid
	if len(v.Reasons) > 0 {
		v.Grade = Invalid
	} else if !limits.NoSteadyState {
		v.judgeWidth(&f.Throughput, limits, len(c.Impacts) > 0)
	}
	return v
}

// noteRamp says which part of the measured part had clients still starting, and the throughput
// after it.
func (v *Validity) noteRamp(after Steps, allStarted int64) {
	text := fmt.Sprintf("clients were still starting until %.4g s, within the measured part, whose figures hold that as well", float64(allStarted)/1e9)
	if len(after.Committed) > 0 {
		rates := make([]float64, len(after.Committed))
		for i, n := range after.Committed {
			rates[i] = float64(n) / after.Seconds
		}
		text += fmt.Sprintf("; with all of them %s/s were committed, over %s of %g s, by which the steady state is judged",
			quantity.Figure(stat.Mean(rates, nil)), check.Counted(len(rates), "interval", "intervals"), after.Seconds)
	}
	v.note("%s", text)
}

// Refuse adds reasons, if any, that make the measurement invalid.
func (v *Validity) Refuse(reasons ...string) {
	if len(reasons) == 0 {
		return
	}
	if v.Grade == Wide {
		v.Reasons = nil
	}
	v.Grade, v.Reasons = Invalid, append(v.Reasons, reasons...)
}

func (v *Validity) refuse(format string, args ...any) {
	v.Reasons = append(v.Reasons, fmt.Sprintf(format, args...))
}

func (v *Validity) note(format string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
}

func (v *Validity) judgeLength(f Figures, limits Limits) {
	if cut := f.Scope.CutText(); cut != "" {
		v.refuse("%s", cut)
	}
	if f.Scope.Seconds() < limits.MinMeasured.Seconds() {
		v.refuse("too short: %.3g s were measured, and %g are needed", f.Scope.Seconds(), limits.MinMeasured.Seconds())
	}
	switch {
	case f.Measured.Committed == 0:
		v.refuse("nothing committed: none of %s in the measured part was", check.Counted(f.Measured.Total(), "operation", "operations"))
	case f.Measured.Committed < limits.MinCommitted:
		v.refuse("too short: %s committed in the measured part, and %d are needed",
			check.Counted(f.Measured.Committed, "operation was", "operations were"), limits.MinCommitted)
	}
}

func (v *Validity) judgeErrors(o history.Counts, limits Limits) {
	errors, total := o.Failed+o.Unknown, o.Total()
	if float64(errors) > limits.MaxErrorShare*float64(total) {
		v.refuse("too many errors: %d of %s (%.1f %%) failed or ended unknown, and %g %% are allowed",
			errors, check.Counted(total, "operation", "operations"), 100*float64(errors)/float64(total), 100*limits.MaxErrorShare)
	}
}

// OfTester reports whether a reason of an invalid measurement is that assay or its machine was too
// slow. What was missed in such a run is not known to be the database's.
func OfTester(reason string) bool {
	return slices.ContainsFunc([]string{clientSaturated, machineBusy, stalled}, func(words string) bool { return strings.HasPrefix(reason, words) })
}

func (v *Validity) judgeClient(c Conditions, limits Limits) {
	switch {
	case c.CPUShare < 0:
		v.note("how busy the client's processors were is not known")
	case c.CPUShare < limits.MaxCPUShare:
	case c.Embedded:
		v.note("the processors were %.0f %% busy, with the database inside the client's process", 100*c.CPUShare)
	default:
		v.refuse(clientSaturated+" it used %.0f %% of its processors, and below %g %% it must stay for the database to be the limit",
			100*c.CPUShare, 100*limits.MaxCPUShare)
	}
}

func (v *Validity) judgeOthers(o OtherWork, limits Limits) {
	if o.Others > limits.MaxOthers {
		v.refuse(machineBusy+" other processes used %.1f %% of its processors (%s), and %g %% are allowed", 100*o.Others, o.Busiest, 100*limits.MaxOthers)
	}
	if o.Steal > limits.MaxSteal {
		v.refuse(machineBusy+" its host gave %.1f %% of its processors to others (steal), and %g %% are allowed", 100*o.Steal, 100*limits.MaxSteal)
	}
	if o.Perhaps > limits.MaxOthers {
		v.note("database servers and proxies on the client's machine used %.0f %% of its processors; which of them is this database cannot be told", 100*o.Perhaps)
	}
	if o.Unseen > limits.MaxOthers {
		v.note("processes that ended at once, or cannot be seen from here, used %.0f %% of the processors of the client's machine", 100*o.Unseen)
	}
}

// manyClients is the number of clients for each processor up to which an embedded database's
// figures stay valid though processors are short: the clients wait for the database's own work.
const manyClients = 4

// judgeScheduler reports whether there were more clients than the client's machine can schedule.
// They then wait for a processor, not for the database.
func (v *Validity) judgeScheduler(f Figures, c Conditions, limits Limits) {
	waiting := min(c.Runnable, float64(c.Clients))
	long := c.SchedulerP99Millis > limits.MaxWaitShare*f.Latency.P99
	many := waiting > limits.MaxWaitingClients*float64(c.Clients)
	if c.Clients <= c.CPUs || c.SchedulerP99Millis < millis(int64(limits.MinWait)) || f.Latency.Count == 0 || !long && !many {
		return
	}
	atATime := ""
	if waiting > 0.5 { // 0.5 would be written as 0
		atATime = fmt.Sprintf("%.0f of them at a time, ", waiting)
	}
	text := fmt.Sprintf("its %d clients waited up to %.3g ms (p99) for one of %d processors, %swhere p99 of the response time is %.3g ms",
		c.Clients, c.SchedulerP99Millis, c.CPUs, atATime, f.Latency.P99)
	if c.Embedded && c.Clients <= manyClients*c.CPUs {
		v.note("the processors were short, with the database inside the client's process: %s", text)
		return
	}
	v.refuse(clientSaturated+" %s; use fewer clients", text)
}

func (v *Validity) judgeSchedule(f Figures, c Conditions, limits Limits) {
	arrivals := f.Measured.Total() + c.Unserved
	switch {
	case float64(c.Unserved) <= limits.MaxUnservedShare*float64(arrivals):
	case len(c.Impacts) > 0:
		v.note("of %s %s never served, with faults acting: they are in no response time, and thresholds count how long they had waited", check.Counted(arrivals, "arrival", "arrivals"), check.Counted(c.Unserved, "was", "were"))
	default:
		v.refuse("schedule slipped: of %s %s never served (%.1f %%), and %g %% are allowed; lower the rate or add clients",
			check.Counted(arrivals, "arrival", "arrivals"), check.Counted(c.Unserved, "was", "were"), 100*float64(c.Unserved)/float64(arrivals), 100*limits.MaxUnservedShare)
	}
	if f.Latency.Count > 0 {
		v.judgeOwnLateness(f.Latency, c, limits)
	}
}

// judgeOwnLateness describes the tester's own share of the response time, and refuses the figures
// if it is too large.
func (v *Validity) judgeOwnLateness(l Latency, c Conditions, limits Limits) {
	share := func(own, of float64) float64 {
		if of <= 0 {
			return 0
		}
		return min(own/of, 1)
	}
	v.OwnShares = &OwnShares{P50: share(c.OwnLagP50Millis, l.P50), P99: share(c.OwnLagP99Millis, l.P99)}
	text := fmt.Sprintf("of p50 %s up to %s (%.0f %%) and of p99 %s up to %s (%.0f %%) are assay's own lateness",
		quantity.Milliseconds(l.P50), quantity.Milliseconds(c.OwnLagP50Millis), 100*v.OwnShares.P50,
		quantity.Milliseconds(l.P99), quantity.Milliseconds(c.OwnLagP99Millis), 100*v.OwnShares.P99)
	noted := millis(int64(limits.OwnLagNoted))
	late50, late99 := v.OwnShares.P50 > limits.MaxOwnShareP50, v.OwnShares.P99 > limits.MaxOwnShareP99
	switch {
	case late50 && c.OwnLagP50Millis > noted || late99 && c.OwnLagP99Millis > noted:
		v.refuse("schedule slipped: %s, and %g %% and %g %% are allowed; use a machine with less other work on it",
			text, 100*limits.MaxOwnShareP50, 100*limits.MaxOwnShareP99)
	case late50 || late99:
		v.note("%s: response times of so few microseconds are partly assay's", text)
	default:
		v.note("%s", text)
	}
}

// judgeSteadiness refuses the figures if a change was shown. A change hidden by noise is no reason:
// the intervals contain the noise.
func (v *Validity) judgeSteadiness(limits Limits, disturbed bool) {
	s := v.Steadiness
	switch {
	case limits.NoSteadyState || s.State == Steady || s.State == NotShown:
	case s.State == NotJudged:
		v.note("steady state %s", s.Text)
	case disturbed:
		v.note("no steady state between the faults: %s", s.Text)
	default:
		v.refuse("no steady state: %s", s.Text)
	}
}

// usefulHalfWidth is half the width of the interval for which a longer run is advised.
const usefulHalfWidth = 0.05

// judgeWidth reports a wide interval of the throughput, and how long to measure for a better one.
// The width falls with the square root of the length.
func (v *Validity) judgeWidth(t *Throughput, limits Limits, faults bool) {
	i := t.Interval()
	if i == nil || t.PerSecond <= 0 {
		return
	}
	share := i.Share(t.PerSecond)
	if share <= limits.MaxHalfWidth {
		return
	}
	v.Grade = Wide
	text := fmt.Sprintf("wide interval: throughput is known within %.0f %% (95 %% confidence), beyond %g %%", math.Ceil(100*share), 100*limits.MaxHalfWidth)
	if faults {
		text += ", with what the faults did in it"
	} else {
		text += fmt.Sprintf("; measure for %s for %g %%", atLeast(t.Seconds*math.Pow(share/usefulHalfWidth, 2)), 100*usefulHalfWidth)
	}
	v.Reasons = append(v.Reasons, text)
}
