package compare

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"assay/check"
	"assay/internal/expect"
	"assay/measure"
)

// firstSentence is the answer of a series of these groups, first to last.
func firstSentence(t *testing.T, groups []Group) []string {
	t.Helper()
	c, err := Compare(groups[0], groups[1], Options{Allow: []string{"all"}})
	expect.NoError(t, err)
	return firstAndLast(groups, []*Comparison{c})
}

// TestASeriesClaimsNoDifferenceByChance: of ten configurations that do not differ, the answer shows a
// difference in no more series than one of two does.
func TestASeriesClaimsNoDifferenceByChance(t *testing.T) {
	claimed := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 1))
		var groups []Group
		for i := range 10 {
			var rates []float64
			for range 5 {
				rates = append(rates, 1000*math.Exp(0.1*random.NormFloat64()))
			}
			groups = append(groups, group("clients="+strconv.Itoa(i+1), rates...))
		}
		all := firstSentence(t, groups)
		if len(all) != 2 || !strings.HasPrefix(all[0], "With clients=10, throughput ") || strings.Contains(all[1], "p=") {
			t.Fatalf("%q", all)
		}
		if !strings.Contains(all[0], "no difference from clients=1 ") {
			claimed++
		}
	}
	if claimed > 14 { // of 200, 6 are to be expected: five of each cannot come nearer to 5 %
		t.Errorf("%d of 200 series show a difference", claimed)
	}
}

// TestASeriesFirstSentence: it compares the last valid configuration with the first valid one, and
// names the extremes.
func TestASeriesFirstSentence(t *testing.T) {
	var groups []Group
	for i, v := range []float64{90_000, 1000, 4000, 700, 2000, 1} {
		g := group("g"+strconv.Itoa(i), around(v)...)
		for j := range g.Runs {
			if i == 0 || i == 5 {
				g.Runs[j].Result.Measurement.Verdict = string(measure.Invalid)
			}
		}
		groups = append(groups, g)
	}
	all := strings.Join(firstSentence(t, groups), "\n")
	if want := "With g4, throughput is 2 times as high as with g1 (2 times; p=0.008; 5 runs each).\nOf the medians of throughput, the highest is 4,000/s (g2), the lowest 700/s (g3)."; all != want {
		t.Errorf("%s\nwant\n%s", all, want)
	}
	for _, g := range groups {
		for j := range g.Runs {
			g.Runs[j].Result.Measurement.Verdict = string(measure.Invalid)
		}
	}
	if all := firstSentence(t, groups); len(all) != 1 || !strings.Contains(all[0], "is not known") {
		t.Errorf("all are invalid: %q", all)
	}
}

// TestObjectiveIsNotAnswered: whether a rate was found or not, what rests on invalid measurements
// has one mark.
func TestObjectiveIsNotAnswered(t *testing.T) {
	for _, rate := range []float64{0, 1000} {
		s := &Sweep{Objective: "p99<100ms", Rate: rate, Tried: 3, Unanswered: true}
		verdicts := s.Document().Verdicts
		last := verdicts[len(verdicts)-1]
		if last.Verdict != check.Unknown || !strings.Contains(last.Text, "not answered") {
			t.Errorf("rate %v: %+v", rate, last)
		}
	}
}
