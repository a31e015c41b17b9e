package report

import (
	"math"
	"testing"

	"assay/internal/expect"
)

func TestPrices(t *testing.T) {
	for text, want := range map[string]Price{"0.17/h": {0.17, ""}, "0.17 usd/h": {0.17, "USD"}, "2.4EUR/day": {0.1, "EUR"}, "730/month": {1, ""}, ".5/h": {0.5, ""}} {
		if got, is := ParsePrice(text); !is || math.Abs(got.PerHour-want.PerHour) > 1e-9 || got.Currency != want.Currency {
			t.Errorf("%s: %+v, %v", text, got, is)
		}
	}
	for _, text := range []string{"", "0.17", "/h", "0/h", "-1/h", "1/week", "a lot/h", "1 euro/h", "1e999/h"} {
		if got, is := ParsePrice(text); is {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// TestCostCountsArbiters: three nodes of which one is an arbiter cost three.
func TestCostCountsArbiters(t *testing.T) {
	r := &Result{Cluster: &Cluster{Nodes: []ClusterNode{{Name: "n1"}, {Name: "n2"}, {Name: "n3", Arbiter: true}}}}
	r.Throughput.PerSecond, r.Data.Bytes = 1000, 2e9
	r.Data.Rows = map[string]int64{"account": 4e6, strikes + "lost-ack": 9}
	r.Measurement.Verdict = "valid"
	r.Cost = CostOf(r, "0.12 EUR/h", Price{0.12, "EUR"})
	expect.Text(t, "the cost", costLine(r), "0.36 EUR an hour for 3 × 0.12 EUR/h; 0.1 EUR a million transactions; 131 EUR a month for each GB held; 65.7 EUR a month for each million rows")
	nodes, arbiters := 2, 1
	r = &Result{Database: Database{Nodes: &nodes, Arbiters: &arbiters}}
	r.Cost = CostOf(r, "1/h", Price{1, ""})
	expect.Text(t, "of nothing committed", costLine(r), "3 an hour for 3 × 1/h")
}

// TestCostOfUnknownNodes: what is not known is not taken for one node, and a cost rests on the
// measurement as the throughput does.
func TestCostOfUnknownNodes(t *testing.T) {
	r := &Result{}
	r.Throughput.PerSecond, r.Measurement.Verdict = 1000, "invalid"
	r.Cost = CostOf(r, "3.6/h", Price{3.6, ""})
	expect.Text(t, "the cost", costLine(r), "for one node at 3.6/h, as the number of nodes is not known; "+Doubtful("1")+" a million transactions")
	if r.Cost.Nodes != 0 {
		t.Errorf("%+v", r.Cost)
	}
	r.Database.Embedded = true
	r.Cost = CostOf(r, "3.6/h", Price{3.6, ""})
	expect.Text(t, "of an embedded database", costLine(r), "3.6 an hour for 1 × 3.6/h")
}

// TestRowsWithoutStrikes: counts of a seeded bug's effects are no rows.
func TestRowsWithoutStrikes(t *testing.T) {
	if n := RowsOf(map[string]int64{"account": 4, "transfer": 3, strikes + "lost-ack": 9}); n != 7 {
		t.Errorf("%d rows", n)
	}
}
