package report

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"assay/check"
)

type card struct{ Name, Value, Note string }

// keyCards is how many cards stand above the first chart.
const keyCards = 3

func (c card) Figure() string {
	figure, _, _ := strings.Cut(c.Value, " ±")
	return figure
}

// Off is the figure's uncertainty, empty if unknown.
func (c card) Off() string {
	_, off, known := strings.Cut(c.Value, " ±")
	return when(known, "±"+off)
}

func cards(r *Result) []card {
	var figures []card
	m := &r.Measured
	if len(r.Rounds) > 0 {
		m = &r.Outcomes
		figures = roundCards(r)
	} else {
		figures = append(rateCards(r), outageCards(r)...)
	}
	figures = append(figures, card{"not committed", percent(m.Total()-m.Committed, m.Total()),
		check.Count(m.Rejected) + " rejected, " + check.Count(m.Failed) + " failed, " + check.Count(m.Unknown) + " unknown of " + check.Count(m.Total())})
	if r.Outcomes.Unknown != m.Unknown {
		figures = append(figures, card{"outcome unknown", check.Count(r.Outcomes.Unknown), "in the whole run"})
	}
	if r.Data.Bytes > 0 && len(sizedRounds(r)) == 0 {
		figures = append(figures, card{dataLabel(r), size(r.Data.Bytes), cmp.Or(r.Data.Measured, "tables and indexes")})
	}
	return figures
}

// rateCards are for a run of one piece. Means over rounds of different work say nothing.
func rateCards(r *Result) []card {
	figures := []card{{"committed/s", figure(r.Throughput.PerSecond) + plusMinus(&r.Throughput), "over " + seconds(r.Throughput.Seconds)}}
	if r.Throughput.Offered > 0 {
		figures[0].Note += ", " + short(r.Throughput.Offered) + " offered"
	}
	if l := &r.Latency; l.Count > 0 {
		figures = append(figures,
			card{"response time, median", millis(l.P50) + plusMinusOf(l.P50, intervalsOf(l).P50), "p99 " + millis(l.P99) + plusMinusOf(l.P99, intervalsOf(l).P99) + ", longest " + millis(l.Max)})
	}
	return figures
}

// outageCards show the longest outage of writes, or reads, over all faults.
func outageCards(r *Result) (figures []card) {
	for i, name := range []string{"write outage", "read outage"} {
		if o := r.LongestOutage(i == 1); o.Millis > 0 {
			figures = append(figures, card{name, lasted(o.Millis, o.AtLeast), o.Fault.name()})
		}
	}
	return figures
}

// roundCards are size on disk and rows a second, or else the best rate and longest operation.
func roundCards(r *Result) []card {
	figures := []card{{"rounds", strconv.Itoa(len(r.Rounds)), "in " + seconds(r.Throughput.Seconds)}}
	if sized := sizedRounds(r); len(sized) > 0 {
		return append(figures, sizeCards(sized)...)
	}
	if rows := rowCards(r.Rounds); len(rows) > 0 {
		return append(figures, rows...)
	}
	best, slowest := &r.Rounds[0], &r.Rounds[0]
	for i := range r.Rounds {
		x := &r.Rounds[i]
		if x.PerSecond > best.PerSecond {
			best = x
		}
		if x.Service.P99 > slowest.Service.P99 {
			slowest = x
		}
	}
	figures = append(figures, card{"committed/s, at most", figure(best.PerSecond), best.Name})
	if slowest.Service.Count > 0 {
		figures = append(figures, card{"p99, at most", millis(slowest.Service.P99),
			slowest.Name + ", longest " + millis(slowest.Service.Max)})
	}
	return figures
}

func sizeCards(sized []Round) []card {
	most, last := sized[0], sized[len(sized)-1]
	for _, x := range sized {
		if x.Size.Bytes > most.Size.Bytes {
			most = x
		}
	}
	figures := []card{{"on disk, at most", size(most.Size.Bytes), "after " + most.Name + sizeNote(most.Size)}}
	return append(figures, card{"on disk, at last", size(last.Size.Bytes), "after " + last.Name + sizeNote(last.Size)})
}

func sizeNote(s *RoundSize) string {
	if s.Payload <= 0 {
		return ""
	}
	return fmt.Sprintf(", %s times the payload", figure(float64(s.Bytes)/float64(s.Payload)))
}

// rowCards show the rows per second of each kind of round. A kind is the name before a comma. Its
// last round counts, when caches are warm.
func rowCards(rounds []Round) []card {
	var figures []card
	var kinds []string
	for i := range rounds {
		x := &rounds[i]
		if x.RowsPerSecond <= 0 {
			continue
		}
		c := card{x.Name + ", rows/s", figure(x.RowsPerSecond), "longest " + millis(x.Service.Max)}
		// The 99th percentile of fewer is their longest.
		if x.Service.Count >= 100 {
			c.Note = "p99 " + millis(x.Service.P99) + ", " + c.Note
		}
		kind, _, _ := strings.Cut(x.Name, ",")
		if n := len(kinds); n > 0 && kinds[n-1] == kind {
			figures[n-1] = c
			continue
		}
		kinds, figures = append(kinds, kind), append(figures, c)
	}
	return figures
}
