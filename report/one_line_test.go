package report

import (
	"bytes"
	"math"
	"testing"

	"assay/check"
	"assay/internal/expect"
)

func TestLine(t *testing.T) {
	hostileName := validRun()
	hostileName.Workload = "bank\nfake: valid\x1b[2J"
	odd := validRun()
	odd.Throughput.PerSecond, odd.Latency.P99 = math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		r    *Result
		want string
	}{
		"valid":     {validRun(), "bank: valid, 2,263 transactions/s, p99 32.8 ms, measurement valid\n"},
		"violated":  {isolationRun(), "isolation: violated, 2,263 transactions/s, p99 32.8 ms, measurement valid; exit 1: violated: 16 findings in isolation, 1 finding in predicate\n"},
		"threshold": {missing(validRun()), "bank: valid, 2,263 transactions/s, p99 32.8 ms, measurement valid; exit 3: threshold missed: p99<10ms, measured 32.8 ms\n"},
		"several":   {missing(odd), "bank: valid, 0 transactions/s, p99 0 ms, measurement invalid; exit 4: measurement invalid: throughput.committed_per_second is missing: it was not a finite number; measurement invalid: latency.p99_ms is missing: it was not a finite number\n"},
		"cut":       {cutRun(), "bank: unknown, 2,107 transactions/s, p99 32.8 ms, measurement invalid; exit 4: no verdict: total: Nothing was read back.; accounts: Nothing was read back.; transfers: Nothing was read back.; order: Nothing was read back.; measurement invalid: the run was cut after 14.2 s by an interrupt; measurement invalid: the measured part of 4.2 s is shorter than the 60 s asked for, and too short to tell a steady state from chance\n"},
		"fast":      {sqliteRun(), "bank: valid, 9,655 transactions/s, p99 1.16 ms, measurement valid\n"},
		"no figure": {odd, "bank: valid, 0 transactions/s, p99 0 ms, measurement invalid; exit 4: measurement invalid: throughput.committed_per_second is missing: it was not a finite number; measurement invalid: latency.p99_ms is missing: it was not a finite number\n"},
		"allowed":   {missedModel(new(true)), "bank: allowed (12 G2-item in isolation; snapshot-isolation, which the vendor promises where serializable was asked for, allows it (page); serializable was asked), 2,263 transactions/s, p99 32.8 ms, measurement valid\n"},
		"hostile":   {hostileName, "bank fake: valid\uFFFD[2J: valid, 2,263 transactions/s, p99 32.8 ms, measurement valid\n"},
		"empty":     {&Result{Workload: "bank"}, "bank: unknown, 0 transactions/s, p99 -, measurement invalid; exit 4: no verdict; measurement invalid\n"},
	} {
		var b bytes.Buffer
		expect.NoError(t, Line(&b, c.r))
		if b.String() != c.want {
			t.Errorf("%s: got %q, want %q", name, b.String(), c.want)
		}
	}
}

// missing is r with a threshold that it missed beside one that it kept.
func missing(r *Result) *Result {
	missed := *r
	missed.Thresholds = []Threshold{{Text: "p99<10ms", Measured: 32.8, Unit: "ms"}, {Text: "throughput>1", Measured: 2263, Unit: "/s", Kept: true}}
	return &missed
}

// missedModel is a run that missed a model which the vendor does not promise, and broke what he
// promises, or it is not known whether he promises it.
func missedModel(kept *bool) *Result {
	r := validRun()
	r.Verdict = check.Allowed
	finding := check.Finding{Kind: "G2-item", Found: 12, Promised: new(bool), Source: "snapshot-isolation, which the vendor promises where serializable was asked for,", Manual: "page"}
	isolation := check.Result{Name: "isolation", Verdict: check.Allowed, Found: 12, Findings: []check.Finding{finding}}
	switch {
	case kept == nil:
		isolation.Findings[0].Promised, isolation.Verdict = nil, check.Unknown
	case !*kept:
		isolation.Findings, isolation.Verdict = nil, check.Violated
	}
	r.Verdict, r.Checks = isolation.Verdict, append(r.Checks, isolation)
	r.Promise = &Promise{Model: "snapshot-isolation", Asked: "serializable", Kept: kept}
	return r
}
