package compare

import (
	"errors"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/report"
)

// configured is a group of a series, with values in the form AXIS=VALUE.
func configured(values []string, perSecond ...float64) Group {
	g := group(strings.Join(values, ", "), perSecond...)
	for _, text := range values {
		axis, value, _ := strings.Cut(text, "=")
		g.Values = append(g.Values, report.Setting{Name: axis, Value: value})
	}
	return g
}

// around are five values near one.
func around(v float64) []float64 { return []float64{v, v * 1.01, v * 0.99, v * 1.005, v * 0.995} }

func series() []Group {
	return []Group{
		configured([]string{"cluster=postgres:2", "clients=1"}, around(1000)...),
		configured([]string{"cluster=postgres:2", "clients=8"}, around(4000)...),
		configured([]string{"cluster=mongodb:3", "clients=1"}, around(700)...),
		configured([]string{"cluster=mongodb:3", "clients=8"}, around(3900)...),
	}
}

func TestClaims(t *testing.T) {
	for text, want := range map[string]string{
		"postgres:2 > mongodb:3 in throughput":                                  Held, // of both numbers of clients
		"postgres > mongodb by 20 % in tps":                                     NotHeld,
		"postgres & clients=1 > mongodb & clients=1 by 20% in tps":              Held,
		"clients=8 > clients=1 by 250 % in throughput":                          Held,
		"clients=1 < clients=8 by 70 % in throughput":                           Held,
		"clients=1 < clients=8 by 80 % in throughput":                           NotHeld,
		"mongodb:3 > postgres:2 in p99":                                         Held,
		"postgres:2 & clients=8 > mongodb:3 & clients=8 by 2.4 % in throughput": NotShown,
	} {
		claim, err := ParseClaim(text)
		expect.NoError(t, err)
		result, err := claim.Judge(series())
		if err != nil || result.State != want || len(result.Detail) == 0 || result.Claim != text {
			t.Errorf("%s: %+v, %v; want %s", text, result, err, want)
		}
	}
}

// A claim is not borne out by what cannot be believed, nor by too few runs.
func TestClaimsNeedEvidence(t *testing.T) {
	claim, err := ParseClaim("postgres:2 > mongodb:3 in throughput")
	expect.NoError(t, err)
	invalid := series()[:1]
	for i := range invalid[0].Runs {
		invalid[0].Runs[i].Result.Measurement = report.Measurement{Verdict: "invalid", Reasons: []string{"machine busy: by others"}}
	}
	few := configured([]string{"cluster=postgres:2", "clients=1"}, 1000, 1010)
	for name, c := range map[string]struct {
		group Group
		want  string
	}{"invalid": {invalid[0], "invalid measurements"}, "few": {few, "--repeat 5"}} {
		result, err := claim.Judge([]Group{c.group, series()[2]})
		if err != nil || result.State != NotShown || !strings.Contains(result.Detail[0], c.want) {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
	}
}

func TestClaimErrors(t *testing.T) {
	for text, want := range map[string]string{
		"postgres:2 > mongodb:3":                    "names no metric",
		"postgres:2 = mongodb:3 in tps":             "one < or >",
		"a > b > c in tps":                          "one < or >",
		" > mongodb:3 in tps":                       "a side is empty",
		"postgres:2 > mongodb:3 by much in tps":     "no share in percent",
		"postgres:2 < mongodb:3 by 100 % in tps":    "less by 100 %",
		"oracle > mongodb:3 in tps":                 "no configuration has oracle; values are cluster=postgres:2",
		"clients=1 & postgres:2 > mongodb:4 in tps": "no configuration has mongodb:4",
		"postgres:2 > mongodb:3 in beauty":          `"beauty" is no figure`,
	} {
		claim, err := ParseClaim(text)
		if err == nil {
			_, err = claim.Judge(series())
		}
		var refused *ClaimError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
	claim, err := ParseClaim("postgres:2 > mongodb:3 in tps")
	expect.NoError(t, err)
	apart := []Group{configured([]string{"cluster=postgres:2", "clients=1"}, 1), configured([]string{"cluster=mongodb:3", "clients=8"}, 1)}
	if _, err := claim.Judge(apart); err == nil || !strings.Contains(err.Error(), "differs") {
		t.Errorf("configurations that differ in more: %v", err)
	}
}
