package report

import (
	"fmt"
	"strconv"

	"assay/check"
	"assay/history"
)

// TPCC is the result of workload tpcc. It is not a TPC result.
type TPCC struct {
	// TpmC is committed New-Orders a minute in the measured part.
	TpmC       float64 `json:"tpmc_like"`
	Warehouses int64   `json:"warehouses"`
	ThinkTimes bool    `json:"think_times"`
	// MostTpmC is the most for this many warehouses with think times; 0 without.
	MostTpmC     float64           `json:"most_tpmc,omitempty"`
	Transactions []TPCCTransaction `json:"transactions"`
	// IsolationTests are the tests of clause 3.4.2, if they were tried.
	IsolationTests []IsolationTest `json:"isolation_tests,omitempty"`
}

// IsolationTest is the result of one of TPC-C's isolation tests.
type IsolationTest struct {
	Test    int    `json:"test"`
	Between string `json:"between"`
	// Phenomenon is forbidden: P0 to P3 as in clause 3.4.1.
	Phenomenon string `json:"phenomenon"`
	// Result is one of the words below. How says how the transactions were kept apart, what was
	// found, or why it was not played.
	Result string `json:"result"`
	How    string `json:"how"`
	// Forbidden is true if the database promises that the finding does not happen.
	Forbidden bool     `json:"forbidden"`
	Steps     []string `json:"steps"`
}

const (
	IsolationPassed    = "passed"
	NotIsolated        = "not isolated"
	IsolationNotPlayed = "not played"
)

// TPCCTransaction is one of the five kinds.
type TPCCTransaction struct {
	Name string `json:"name"`
	// Outcomes counts the whole run, Measured the committed ones of the measured part.
	Outcomes history.Counts `json:"outcomes"`
	Measured int64          `json:"measured"`
	// Share is the percentage of all measured transactions, LeastShare the specification's least.
	Share      float64 `json:"share_percent"`
	LeastShare float64 `json:"least_share_percent"`
	// Response times in milliseconds; 0 without commits. LimitP90 is the specification's.
	Mean     float64 `json:"mean_ms"`
	P90      float64 `json:"p90_ms"`
	Longest  float64 `json:"longest_ms"`
	LimitP90 float64 `json:"limit_p90_ms"`
}

// tpccTables are how the transactions ended, their response times, and the isolation tests if any
// were tried.
func tpccTables(x *TPCC) []Table {
	ended := Table{Title: "Transactions: " + tpccLine(x), Head: []string{"", "committed", "rolled back", "failed", "unknown", "share %"}}
	took := Table{Title: "Response times of the transactions", Head: []string{"", "mean", "p90", "longest", "limit of p90"}}
	for _, k := range x.Transactions {
		ended.Rows = append(ended.Rows, []string{k.Name, check.Count(k.Outcomes.Committed), check.Count(k.Outcomes.Rejected), check.Count(k.Outcomes.Failed),
			check.Count(k.Outcomes.Unknown), fmt.Sprintf("%.1f", k.Share)})
		took.Rows = append(took.Rows, append(append([]string{k.Name}, times(k.Longest > 0, k.Mean, k.P90, k.Longest)...), millis(k.LimitP90)))
	}
	all := []Table{ended, took}
	if len(x.IsolationTests) > 0 {
		all = append(all, isolationTable(x))
	}
	return all
}

func tpccLine(x *TPCC) string {
	line := figure(x.TpmC) + " tpmC-like (committed New-Orders a minute)"
	if x.MostTpmC > 0 {
		line += fmt.Sprintf(", of %s that %s can reach", figure(x.MostTpmC), check.Counted(x.Warehouses, "warehouse", "warehouses"))
	}
	return line
}

func isolationTable(x *TPCC) Table {
	t := Table{Title: "Isolation tests of clause 3.4.2", Head: []string{"test", "between", "must not show", "result", "how"}}
	for _, k := range x.IsolationTests {
		t.Rows = append(t.Rows, []string{strconv.Itoa(k.Test), k.Between, k.Phenomenon, k.Result + when(k.Forbidden, ", against the promise"), k.How})
	}
	return t
}
