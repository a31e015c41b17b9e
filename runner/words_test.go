package runner

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/catalog"
	"assay/load"
	"assay/report"
	"assay/workload/availability"
)

// ill is what no sentence about an honest database holds: digits that are not
// grouped, a part that begins with nothing of something bad, one of many.
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
		catalog.Bank: small("", 3, 1500), catalog.BulkUpdate: bulkUpdates("", 3), catalog.Candles: smallCandles(""), catalog.Churn: churning("", 3),
	}
	for _, name := range []string{catalog.Isolation, catalog.Entity, catalog.Availability} {
		s := small("", 3, 1500)
		s.Workload = name
		all[name] = s
	}
	s := all[catalog.Availability]
	s.Load = availability.Plan(s.Availability, s.Load)
	s.Load.Rate, s.Load.Arrivals = 3000, load.Poisson
	all[catalog.Availability] = s
	for _, test := range []string{"register", "all"} {
		s = all[catalog.Isolation]
		s.Transactions.Test = test
		all[catalog.Isolation+" "+test] = s
	}
	return all
}

// TestWordsAreWellFormed: counts are grouped and agree with their words, in the
// checks, the notes and both reports in words.
func TestWordsAreWellFormed(t *testing.T) {
	for name, s := range wordy() {
		r := carryOut(t, s).Result
		said := slices.Clone(r.Notes)
		for _, c := range r.Checks {
			said = append(said, c.Detail)
		}
		var text, markdown strings.Builder
		if err := report.Text(&text, r, report.TextOptions{Width: 10_000}); err != nil {
			t.Fatal(err)
		}
		if err := report.Markdown(&markdown, r); err != nil {
			t.Fatal(err)
		}
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
}
