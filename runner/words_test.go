package runner

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/load"
	"assay/report"
	"assay/workload/availability"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/entity"
	"assay/workload/isolation"
)

// ill is what no sentence about an honest database has: ungrouped digits, an empty part about
// something bad, a plural of one.
func ill() map[string]*regexp.Regexp {
	return map[string]*regexp.Regexp{
		"digits that are not grouped": regexp.MustCompile(`(^|[ (])[0-9]{4,}($|[ ;:,)])`),
		"a count of nothing":          regexp.MustCompile(`(^|[;:,(] |and )0 [a-z]`),
		"one of many":                 regexp.MustCompile(`(^|[ (])1 ([a-z]+s) (are|were|have|hold|differ|in) `),
	}
}

// wordy is a small run of each workload.
func wordy() map[string]Scenario {
	all := map[string]Scenario{
		bank.Name: small("", 3, 1500), bulkupdate.Name: bulkUpdates("", 3), candles.Name: smallCandles(""), churn.Name: churning("", 3),
	}
	withThresholds := all[bank.Name]
	withThresholds.Thresholds = []string{"p99 < 1h", "throughput >= 1"}
	all[bank.Name] = withThresholds
	of := func(w definition.Workload) Scenario {
		s := small("", 3, 1500)
		become(&s, w)
		return s
	}
	all[isolation.Name], all[entity.Name] = of(isolation.Definition()), of(entity.Definition())
	s := of(availability.Definition())
	s.Plan()
	s.Load.Rate, s.Load.Arrivals = 3000, load.Poisson
	all[availability.Name] = s
	for _, test := range []string{"register", "all"} {
		s = of(isolation.Definition())
		s.Config.(*isolation.Config).Test = test
		all[isolation.Name+" "+test] = s
	}
	return all
}

// mustBeWellFormed requires grouped counts that agree with their words, in checks, notes and
// reports.
func mustBeWellFormed(t *testing.T, name string, r *report.Result) {
	t.Helper()
	said := slices.Clone(r.Notes)
	for _, c := range r.Checks {
		said = append(said, c.Detail)
	}
	var text, markdown strings.Builder
	expect.NoError(t, report.Text(&text, r, report.TextOptions{Width: 10_000}))
	expect.NoError(t, report.Markdown(&markdown, r))
	for _, line := range strings.Split(text.String()+markdown.String(), "\n") {
		if !strings.HasPrefix(line, "settings") && !strings.Contains(line, "seed") && !strings.Contains(line, "data on disk") && !strings.Contains(line, "started") {
			said = append(said, line)
		}
	}
	for what, pattern := range ill() {
		for _, sentence := range said {
			if found := pattern.FindString(sentence); found != "" {
				t.Errorf("%s: %s (%q) in %q", name, what, found, sentence)
			}
		}
	}
}
