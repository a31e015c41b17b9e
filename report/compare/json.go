package compare

import (
	"io"
	"math"

	"assay/report"
)

// jsonComparison is what --json writes. Fields are added, never renamed.
type jsonComparison struct {
	Format      int          `json:"format"`
	Groups      []jsonGroup  `json:"groups"`
	Rows        []jsonRow    `json:"rows"`
	Differences []Difference `json:"differences"`
	Gates       []GateResult `json:"gates"`
}

type jsonGroup struct {
	Name     string `json:"name"`
	Runs     int    `json:"runs"`
	Violated int    `json:"violated"`
	Invalid  int    `json:"measurement_invalid"`
	Failed   int    `json:"failed"`
	Waiting  int    `json:"waiting"`
}

// jsonRow is one metric of two groups. Change is null if A is 0.
type jsonRow struct {
	GroupA      string   `json:"group_a"`
	GroupB      string   `json:"group_b"`
	Metric      string   `json:"metric"`
	Unit        string   `json:"unit"`
	A           float64  `json:"a"`
	ALow        float64  `json:"a_low"`
	AHigh       float64  `json:"a_high"`
	B           float64  `json:"b"`
	BLow        float64  `json:"b_low"`
	BHigh       float64  `json:"b_high"`
	Change      *float64 `json:"change"`
	P           float64  `json:"p"`
	Significant bool     `json:"significant"`
	Better      bool     `json:"better"`
	// AAtLeast and BAtLeast mean that runs' ends cut the medians.
	AAtLeast bool `json:"a_at_least,omitempty"`
	BAtLeast bool `json:"b_at_least,omitempty"`
}

// WriteJSON writes rows as {metric, a, b, change, p, significant} and more.
func WriteJSON(w io.Writer, all []*Comparison) error {
	out := jsonComparison{Format: 1, Groups: []jsonGroup{}, Rows: []jsonRow{}, Differences: []Difference{}, Gates: []GateResult{}}
	for _, g := range groupsOf(all) {
		out.Groups = append(out.Groups, jsonGroup{g.Name, len(g.Runs), g.Violated(), g.Invalid(), g.Failed, g.Waiting})
	}
	for _, c := range all {
		out.Differences = append(out.Differences, c.Differences...)
		out.Gates = append(out.Gates, c.Gates...)
		for _, r := range c.Rows {
			row := jsonRow{c.A.Name, c.B.Name, r.Metric, r.Unit, r.A.Median, r.A.Low, r.A.High, r.B.Median, r.B.Low, r.B.High, nil, r.P, r.Significant, r.Better, r.A.AtLeast, r.B.AtLeast}
			if !math.IsInf(r.Change, 0) {
				row.Change = &r.Change
			}
			out.Rows = append(out.Rows, row)
		}
	}
	return report.Indented(w, out, "  ", "comparison")
}
