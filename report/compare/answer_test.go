package compare

import (
	"strings"
	"testing"
)

// TestObjectiveIsNotAnswered: whether a rate was found or not, what rests on invalid measurements
// has one mark.
func TestObjectiveIsNotAnswered(t *testing.T) {
	for _, rate := range []float64{0, 1000} {
		s := &Sweep{Objective: "p99<100ms", Rate: rate, Tried: 3, Unanswered: true}
		verdicts := s.Document("").Verdicts
		last := verdicts[len(verdicts)-1]
		if last.Mark() != "?" || last.Class() != "unsure" || !strings.Contains(last.Text, "not answered") {
			t.Errorf("rate %v: %s %s", rate, last.Mark(), last.Text)
		}
	}
}
