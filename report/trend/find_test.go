package trend

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"assay/internal/expect"
)

func indexes(points []ChangePoint) []int {
	all := []int{}
	for _, p := range points {
		all = append(all, p.Index)
	}
	return all
}

// TestOtavasOwnTests has the series of apache/otava's tests/analysis_test.py and
// tests/series_test.py, with what these expect.
func TestOtavasOwnTests(t *testing.T) {
	step := []float64{1.02, 0.95, 0.99, 1.00, 1.12, 1.00, 1.01, 0.98, 1.01, 0.96, 0.50, 0.51, 0.48, 0.48, 0.55, 0.50, 0.49, 0.51, 0.50, 0.49}
	first := []float64{1.02, 0.95, 0.99, 1.00, 1.12, 0.90, 0.50, 0.51, 0.48, 0.48, 0.55}
	second := []float64{2.02, 2.03, 2.01, 2.04, 1.82, 1.85, 1.79, 1.81, 1.80, 1.76, 1.78}
	many := slices.Concat(slices.Repeat([]float64{1}, 5), slices.Repeat([]float64{5}, 8), slices.Repeat([]float64{9}, 8), slices.Repeat([]float64{3}, 9))
	for _, test := range []struct {
		name   string
		series []float64
		o      Options
		want   []int
	}{
		{"test_single_series", step, Options{Window: 10, MaxP: 0.0001}, []int{10}},
		{"test_change_point_detection, series1", first, Defaults(), []int{6}},
		{"test_change_point_detection, series2", second, Defaults(), []int{4}},
		{"test_change_point_detection_many", many, Options{Window: 50, MaxP: 0.05}, []int{5, 13, 21}},
		{"test_change_point_min_magnitude, series1", first, Options{Window: 50, MaxP: 0.001, MinChange: 0.2}, []int{6}},
		{"test_change_point_min_magnitude, series2", second, Options{Window: 50, MaxP: 0.001, MinChange: 0.2}, []int{}},
		{"test_ttest", []float64{0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149.0, 149.7, 149.5, 149.1, 148.8, 150.0}, Options{Window: 50, MaxP: 0.001}, []int{5, 8}},
	} {
		if got := indexes(Find(test.series, test.o)); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	same := probability([]float64{1.00, 1.02, 1.05, 0.95, 0.98}, []float64{1.00, 1.02, 1.05, 0.95, 0.98})
	less := probability([]float64{1.00, 1.02, 1.05, 0.95, 0.98}, []float64{0.80, 0.82, 0.85, 0.79, 0.77})
	if same < 0.99 || less > 0.001 {
		t.Errorf("test_significance_tester: %g, %g", same, less)
	}
}

// pattern is one series of testdata/otava.json, which says where they come from.
type pattern struct {
	Name         string
	Kinds        []string
	Truth, Otava []int
	Values       []float64
}

func patterns(t *testing.T) []pattern {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "otava.json"))
	expect.NoError(t, err)
	var file struct{ Series []pattern }
	if err := json.Unmarshal(text, &file); err != nil || len(file.Series) != 110 {
		t.Fatalf("%d series, %v", len(file.Series), err)
	}
	return file.Series
}

// score counts as otava-test-data's compute_accuracy_metrics does: a change point is
// found if one is reported within five values of it.
type score struct{ found, wrong, missed int }

func (s *score) add(truth, reported []int) {
	matched := map[int]bool{}
	for _, r := range reported {
		if i := slices.IndexFunc(truth, func(at int) bool { return !matched[at] && max(r-at, at-r) <= 5 }); i >= 0 {
			matched[truth[i]] = true
			s.found++
		} else {
			s.wrong++
		}
	}
	s.missed += len(truth) - len(matched)
}

func (s score) f1() float64 { return 2 * float64(s.found) / float64(2*s.found+s.wrong+s.missed) }

// TestPatterns: on the test patterns for Apache Otava the F1 score is no worse than
// Otava's own, over all of them and over those whose mean shifts.
func TestPatterns(t *testing.T) {
	var ours, theirs, oursShift, theirsShift score
	for _, p := range patterns(t) {
		got := indexes(Find(p.Values, Defaults()))
		ours.add(p.Truth, got)
		theirs.add(p.Truth, p.Otava)
		shift := !slices.ContainsFunc(p.Kinds, func(kind string) bool { return kind == "outlier" || kind == "variance" || kind == "phase" })
		if shift {
			oursShift.add(p.Truth, got)
			theirsShift.add(p.Truth, p.Otava)
		}
		if !slices.Equal(got, p.Otava) {
			t.Logf("%s: %v, Otava %v, true are %v", p.Name, got, p.Otava, p.Truth)
		}
	}
	t.Logf("all: F1 %.3f %+v, Otava's %.3f %+v", ours.f1(), ours, theirs.f1(), theirs)
	t.Logf("shifts of the mean: F1 %.3f %+v, Otava's %.3f %+v", oursShift.f1(), oursShift, theirsShift.f1(), theirsShift)
	if ours.f1() < theirs.f1() || oursShift.f1() < theirsShift.f1() {
		t.Error("it is worse than Otava")
	}
}

// TestFalseAlarms: of series that do not change, at most one in twenty is said to.
func TestFalseAlarms(t *testing.T) {
	for name, noise := range map[string]func(*rand.Rand) float64{
		"normal":     func(rng *rand.Rand) float64 { return 1000 + 50*rng.NormFloat64() },
		"log-normal": func(rng *rand.Rand) float64 { return 10 * math.Exp(0.3*rng.NormFloat64()) },
		"uniform":    func(rng *rand.Rand) float64 { return 100 + 10*rng.Float64() },
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		for _, length := range []int{10, 30, 100} {
			const tries = 500
			alarms := 0
			for range tries {
				series := make([]float64, length)
				for i := range series {
					series[i] = noise(rng)
				}
				if len(Find(series, Defaults())) > 0 {
					alarms++
				}
			}
			t.Logf("%s noise, %d values: %.1f %% of the series", name, length, 100*float64(alarms)/tries)
			if alarms > tries/20 {
				t.Errorf("%s noise, %d values: %d of %d series are said to change", name, length, alarms, tries)
			}
		}
	}
}

// TestFindIsRobust: short, constant and odd series have an answer, too.
func TestFindIsRobust(t *testing.T) {
	for _, series := range [][]float64{nil, {1}, {1, 2}, {0, 0, 0, 0}, {math.MaxFloat64, -math.MaxFloat64, 0}, slices.Repeat([]float64{7}, 200)} {
		if got := Find(series, Defaults()); len(got) > 0 {
			t.Errorf("%v: %+v", series, got)
		}
	}
	// From nothing to something is a change without a share.
	got := Find(slices.Concat(make([]float64, 10), slices.Repeat([]float64{5}, 10)), Defaults())
	if len(got) != 1 || got[0].Index != 10 || !math.IsInf(got[0].Change(), 1) || got[0].P != 0 {
		t.Errorf("from 0 to 5: %+v", got)
	}
}
