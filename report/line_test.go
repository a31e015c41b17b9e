package report

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
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
		"violated":  {isolationRun(), "isolation: violated, 2,263 transactions/s, p99 32.8 ms, measurement valid\n"},
		"cut":       {cutRun(), "bank: unknown, 2,107 transactions/s, p99 32.8 ms, measurement invalid\n"},
		"fast":      {sqliteRun(), "bank: valid, 9,655 transactions/s, p99 1.16 ms, measurement valid\n"},
		"no figure": {odd, "bank: valid, 0 transactions/s, p99 0 ms, measurement invalid\n"},
		"hostile":   {hostileName, "bank fake: valid\uFFFD[2J: valid, 2,263 transactions/s, p99 32.8 ms, measurement valid\n"},
		"empty":     {&Result{Workload: "bank"}, "bank: unknown, 0 transactions/s, p99 -, measurement invalid\n"},
	} {
		var b bytes.Buffer
		if err := Line(&b, c.r); err != nil {
			t.Fatal(err)
		}
		if b.String() != c.want {
			t.Errorf("%s: got %q, want %q", name, b.String(), c.want)
		}
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
		"HTML": HTML(full{}, r, Page{}), "WriteJSON": WriteJSON(full{}, r), "MarkdownTables": MarkdownTables(full{}, []*Result{r}),
	} {
		if !errors.Is(err, errFull) || !strings.HasPrefix(err.Error(), "report: write ") {
			t.Errorf("%s returns %v", name, err)
		}
	}
}
