package servers

import (
	"math"
	"slices"

	"assay/internal/quantity"
	"assay/store"
)

// Summary is what the servers did over the measured part of a run.
type Summary struct {
	Seconds float64 `json:"interval_s"`
	Samples int     `json:"samples"`
	// Nodes are the servers and assay itself. NoNodes is why there is no server.
	Nodes   []NodeSummary `json:"nodes"`
	NoNodes string        `json:"no_nodes,omitempty"`
	// Account has the database's statistics. NoAccount is why there are none. Missed counts looks
	// without them, and Problem is the last failure.
	Account   []FigureSummary `json:"account"`
	NoAccount string          `json:"no_account,omitempty"`
	Looks     int             `json:"account_looks"`
	Missed    int             `json:"account_missed"`
	Problem   string          `json:"account_problem,omitempty"`
	Limit     Limit           `json:"limit"`
	// Growth is empty if nothing certainly grew, or the run was short.
	Growth []Growth `json:"growth,omitempty"`
	// Waits says in one sentence what transactions waited for; empty if unknown.
	Waits string `json:"waits,omitempty"`
}

// NodeSummary is what a node used; nil for unknown figures.
type NodeSummary struct {
	Node
	Samples int `json:"samples"`
	Of      int `json:"of_samples"`
	// CPUMedian, CPUMax and CPUMean are shares of the processors it may use, 0 to 1.
	CPUMedian  *float64 `json:"cpu_share_median,omitempty"`
	CPUMax     *float64 `json:"cpu_share_max,omitempty"`
	CPUMean    *float64 `json:"cpu_share_mean,omitempty"`
	MemoryMax  *float64 `json:"memory_max_bytes,omitempty"`
	ThreadsMax *float64 `json:"threads_max,omitempty"`
	// The rest are means.
	Written  *float64 `json:"disk_written_bytes_per_second,omitempty"`
	Read     *float64 `json:"disk_read_bytes_per_second,omitempty"`
	Received *float64 `json:"network_in_bytes_per_second,omitempty"`
	Sent     *float64 `json:"network_out_bytes_per_second,omitempty"`
}

// FigureSummary is a figure of the statistics, in the charts' Unit.
type FigureSummary struct {
	Name   string  `json:"name"`
	Chart  string  `json:"chart"`
	Unit   string  `json:"unit"`
	Mean   float64 `json:"mean"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// Summarize is a pure function of a record and its conditions.
func Summarize(r *Record, c Conditions) Summary {
	s := Summary{Nodes: []NodeSummary{}, NoNodes: r.NoNodes, Account: []FigureSummary{}, NoAccount: r.NoAccount}
	measured := r.intervalsWithin(c.From, c.To, nil)
	var lengths []float64
	for i, in := range measured {
		if in {
			now := &r.Samples[i+1]
			s.Samples, s.Looks, s.Missed = s.Samples+1, s.Looks+now.Looks, s.Missed+now.Missed
			lengths = append(lengths, now.At-r.Samples[i].At)
			if now.Problem != "" {
				s.Problem = now.Problem
			}
		}
	}
	s.Seconds = quantity.Median(lengths)
	for _, n := range r.Nodes {
		s.Nodes = append(s.Nodes, r.summarizeNode(n, measured))
	}
	for _, f := range r.Statistics {
		if values := selected(r.figure(f), measured); len(values) > 0 {
			s.Account = append(s.Account, FigureSummary{Name: f.Name, Chart: f.Chart, Unit: unitOf(f),
				Mean: mean(values), Median: quantity.Median(values), Max: slices.Max(values)})
		}
	}
	s.Limit, s.Waits, s.Growth = r.limit(c), r.waitsText(measured), r.growths(c)
	return s
}

func (r *Record) summarizeNode(n Node, measured []bool) NodeSummary {
	s := NodeSummary{Node: n}
	of := func(values []float64, what func([]float64) float64) *float64 {
		chosen := selected(values, measured)
		if len(chosen) == 0 {
			return nil
		}
		value := what(chosen)
		return &value
	}
	cpu := r.cpu(n)
	s.Samples = len(selected(cpu, measured))
	for _, in := range measured {
		if in {
			s.Of++
		}
	}
	s.CPUMedian, s.CPUMax, s.CPUMean = of(cpu, quantity.Median), of(cpu, slices.Max), of(cpu, mean)
	s.MemoryMax, s.ThreadsMax = of(r.memory(n), slices.Max), of(r.threads(n), slices.Max)
	s.Written, s.Read, s.Received, s.Sent = of(r.written(n), mean), of(r.read(n), mean), of(r.received(n), mean), of(r.sent(n), mean)
	return s
}

// intervalsWithin reports which intervals lie in a span and outside of others, all in seconds since
// the start of the run.
func (r *Record) intervalsWithin(from, to float64, without [][2]float64) []bool {
	within := make([]bool, max(len(r.Samples)-1, 0))
	for i := range within {
		begin, end := r.Samples[i].At, r.Samples[i+1].At
		// A look comes some milliseconds after its due time.
		const late = 0.1
		within[i] = begin >= from-late && end <= to+late &&
			!slices.ContainsFunc(without, func(f [2]float64) bool { return end > f[0] && begin < f[1] })
	}
	return within
}

func selected(values []float64, chosen []bool) []float64 {
	var all []float64
	for i, value := range values {
		if chosen[i] && !math.IsNaN(value) {
			all = append(all, value)
		}
	}
	return all
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

func mean(values []float64) float64 { return sum(values) / float64(len(values)) }

func (r *Record) meaning(m store.Meaning) ([]float64, bool) {
	i := slices.IndexFunc(r.Statistics, func(s store.Statistic) bool { return s.Means == m })
	if i < 0 {
		return nil, false
	}
	return r.figure(r.Statistics[i]), true
}
