package report

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

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
		"missed":    {asked("serializable", true), "isolation: violated, 2,263 transactions/s, p99 32.8 ms, measurement valid; exit 1: violated: 16 findings in isolation, 1 finding in predicate; not serializable, as was asked; what the vendor promises (snapshot-isolation) was kept\n"},
		"threshold": {missing(validRun()), "bank: valid, 2,263 transactions/s, p99 32.8 ms, measurement valid; exit 3: threshold missed: p99<10ms, measured 32.8 ms\n"},
		"several":   {missing(odd), "bank: valid, 0 transactions/s, p99 0 ms, measurement invalid; exit 4: measurement invalid: throughput.committed_per_second is missing: it was not a finite number; measurement invalid: latency.p99_ms is missing: it was not a finite number; threshold missed: p99<10ms, measured 32.8 ms\n"},
		"cut":       {cutRun(), "bank: unknown, 2,107 transactions/s, p99 32.8 ms, measurement invalid; exit 4: no verdict: total: Nothing was read back.; accounts: Nothing was read back.; transfers: Nothing was read back.; order: Nothing was read back.; measurement invalid: the run was cut after 14.2 s by an interrupt; measurement invalid: the measured part of 4.2 s is shorter than the 60 s asked for, and too short to tell a steady state from chance\n"},
		"fast":      {sqliteRun(), "bank: valid, 9,655 transactions/s, p99 1.16 ms, measurement valid\n"},
		"no figure": {odd, "bank: valid, 0 transactions/s, p99 0 ms, measurement invalid; exit 4: measurement invalid: throughput.committed_per_second is missing: it was not a finite number; measurement invalid: latency.p99_ms is missing: it was not a finite number\n"},
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

// asked is a run that missed a model which the vendor does not promise.
func asked(model string, kept bool) *Result {
	r := isolationRun()
	r.Promise = &Promise{Model: "snapshot-isolation", Asked: model, Kept: &kept}
	return r
}

// TestPromiseAndModel: a missed model that was only asked for is told from a
// broken promise, in all reports.
func TestPromiseAndModel(t *testing.T) {
	undecided, weaker := asked("serializable", true), validRun()
	undecided.Promise.Kept = nil
	weaker.Promise = asked("read-committed", false).Promise
	for name, c := range map[string]struct {
		r       *Result
		verdict string
		page    string
	}{
		"kept":      {asked("serializable", true), "VIOLATED: not serializable, as was asked; what the vendor promises (snapshot-isolation) was kept;", "The database kept what its vendor promises (snapshot-isolation). It is not serializable"},
		"broken":    {asked("serializable", false), "VIOLATED: not serializable, as was asked; what the vendor promises (snapshot-isolation) was broken;", "The database broke a promise."},
		"undecided": {undecided, "VIOLATED: not serializable, as was asked; whether what the vendor promises (snapshot-isolation) was kept is undecided;", "Whether what the vendor promises (snapshot-isolation) was kept is undecided."},
		"weaker":    {weaker, "VALID: all 4 checks found nothing wrong; read-committed, as was asked; what the vendor promises (snapshot-isolation) was broken", "The database broke what its vendor promises (snapshot-isolation)."},
	} {
		var markdown, page strings.Builder
		expect.NoError(t, errors.Join(Markdown(&markdown, c.r), HTML(&page, c.r, Page{})))
		text := textOf(t, c.r, TextOptions{Width: 400})
		for form, said := range map[string]string{"text": text, "Markdown": markdown.String(), "page": page.String()} {
			if !strings.Contains(said, c.verdict) || strings.Contains(said, "broke a promise") != (name == "broken" && form == "page") {
				t.Errorf("%s: the %s does not say %q", name, form, c.verdict)
			}
		}
		expect.Text(t, name, page.String(), c.page)
	}
}

// full is a disk without room.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestWritersReturnTheError holds that no report is lost in silence.
func TestWritersReturnTheError(t *testing.T) {
	r := isolationRun()
	for name, err := range map[string]error{
		"Line": Line(full{}, r), "Text": Text(full{}, r, TextOptions{}), "Markdown": Markdown(full{}, r),
		"HTML": HTML(full{}, r, Page{}), "WriteJSON": WriteJSON(full{}, r),
	} {
		if !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "write ") {
			t.Errorf("%s returns %v", name, err)
		}
	}
}
