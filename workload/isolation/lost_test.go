package isolation

import (
	"testing"
	"time"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/store/promise"
	"assay/workload/definition"
)

// TestWhatAPowerCutMayLose: an append that was seen, and lost at a cut, after which the
// list begins anew.
func TestWhatAPowerCutMayLose(t *testing.T) {
	const cut = 27 // between the operations at 20 to 25 and 30 to 35
	for allowed, want := range map[time.Duration]check.Verdict{0: violated, time.Second: valid, -1: valid} {
		s := newScript(t, "append")
		lost := s.do(0, history.Committed, appendTo(2, 0))
		s.do(1, history.Committed, readList(2, lost))
		kept := s.do(2, history.Committed, appendTo(2, 0))
		s.do(3, history.Committed, readList(2, kept))
		_ = s.state.list(2, []int64{kept})
		s.losses = &definition.Losses{Cuts: []promise.Moment{{At: cut, Allowed: allowed}}, Source: "commits"}
		j, err := s.judge()
		expect.NoError(t, err)
		if got := check.Combine(j.Results); got != want {
			t.Errorf("%v: %v, %+v", allowed, got, j.Results)
		}
		if l := s.losses; l.Operations != 1 || (l.Beyond == 1) != (want == violated) {
			t.Errorf("%v: %+v", allowed, l)
		}
		if j.Tally.Committed != 4 {
			t.Errorf("%v: counted %+v", allowed, j.Tally)
		}
	}
}
