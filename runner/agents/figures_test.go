package agents

import (
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"

	"assay/history"
	"assay/internal/expect"
	"assay/load"
	"assay/measure"
)

func delta(t *testing.T, micros, n int64) measure.Delta {
	t.Helper()
	live := measure.NewLive(1)
	live.Add(&history.Op{Attempt: 1, Last: true, Outcome: history.Committed, Final: history.Committed, End: micros * 1000})
	d := live.Take()
	h, err := hdrhistogram.Decode([]byte(d.Latency))
	expect.NoError(t, err)
	expect.NoError(t, h.RecordValues(micros*1000, n-1))
	text, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	expect.NoError(t, err)
	d.Latency, d.Outcomes.Committed, d.Attempts, d.Sum = string(text), n, n, float64(micros*1000*n)
	return d
}

func statsOf(t *testing.T, micros, n int64) load.Stats {
	t.Helper()
	s := load.Stats{Hung: 1, Late: hdrhistogram.New(1, 3_600_000_000, 2), OwnLag: hdrhistogram.New(1, 3_600_000_000, 2)}
	expect.NoError(t, s.Late.RecordValues(micros, n))
	decoded, err := encodeStats(s).decode()
	expect.NoError(t, err)
	return decoded
}

// TestAnAgentThatDidNothingWasCutAllTheSame: it was stopped before its first operation.
func TestAnAgentThatDidNothingWasCutAllTheSame(t *testing.T) {
	worked, idle := func() load.Stats { return statsOf(t, 10, 5) }, load.Stats{Cut: true, WhyCut: "nobody answered"}
	for name, joined := range map[string]load.Stats{"first": Joined(idle, worked()), "last": Joined(worked(), idle), "alone": Joined(load.Stats{}, idle)} {
		if !joined.Cut || joined.WhyCut != "nobody answered" || name != "alone" && joined.Hung != 1 {
			t.Errorf("%s: %+v", name, joined)
		}
	}
	if Joined(load.Stats{}, worked()).Cut {
		t.Error("nobody was cut")
	}
}
