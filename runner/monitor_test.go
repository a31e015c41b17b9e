package runner

import (
	"net/http/httptest"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"assay/history"
	"assay/internal/expect"
	"assay/runner/monitor"
	"assay/workload/bank"
	"assay/workload/churn"
	"assay/workload/definition"
	"assay/workload/isolation"
)

// TestMonitorAgrees: Prometheus reads at the end what result.json says, of one stretch and of
// rounds, with failures, rejections and retries.
func TestMonitorAgrees(t *testing.T) {
	t.Parallel()
	for _, w := range []definition.Workload{bank.Definition(), isolation.Definition(), churn.Definition()} {
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			s := Defaults(w)
			s.Database, s.Load.Seed, s.Load.Retry, s.Load.MaxAttempts = "mem://", 7, "failed", 3
			s.Load.Clients = 4
			switch c := s.Config.(type) {
			case *bank.Config:
				c.Accounts, s.Load.Ops, s.Load.Warmup = 20, 600, 0
			case *churn.Config:
				c.Rows, c.Cycles, s.Load.Clients = 500, 1, 2
			default:
				s.Load.Ops, s.Load.Warmup = 600, 0
			}
			metrics := monitor.New("test")
			out := carryOutBy(t, s, Options{Monitor: metrics})
			answer := httptest.NewRecorder()
			metrics.Handler().ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
			parser := expfmt.NewTextParser(model.UTF8Validation)
			families, err := parser.TextToMetricFamilies(answer.Body)
			expect.NoError(t, err)
			var outcomes history.Counts
			counters := func(name string, c *history.Counts) (sum int64) {
				for _, m := range families[name].GetMetric() {
					n := int64(m.GetCounter().GetValue())
					sum += n
					for _, l := range m.GetLabel() {
						for o := history.Unknown; o.Valid(); o++ {
							if l.GetName() == "outcome" && l.GetValue() == o.String() {
								c.Add(o, n)
							}
						}
						if l.GetName() == "operation" && l.GetValue() == "other" && n > 0 {
							t.Errorf("%d operations have no name", n)
						}
					}
				}
				return sum
			}
			counters("assay_operations_total", &outcomes)
			attempts := counters("assay_attempts_total", &history.Counts{})
			if r := out.Result; outcomes != r.Outcomes || attempts != r.Retries.Attempts || outcomes.Committed == 0 {
				t.Errorf("Prometheus reads %+v in %d attempts, the result has %+v in %d", outcomes, attempts, r.Outcomes, r.Retries.Attempts)
			}
			var timed uint64
			for _, m := range families["assay_response_time_seconds"].GetMetric() {
				timed += m.GetHistogram().GetSampleCount()
			}
			if int64(timed) != outcomes.Committed {
				t.Errorf("%d response times of %d committed operations", timed, outcomes.Committed)
			}
			for _, m := range families["assay_phase"].GetMetric() {
				if phase := m.GetLabel()[0].GetValue(); (m.GetGauge().GetValue() == 1) != (phase == PhaseChecking) {
					t.Errorf("at the end phase %s is %v", phase, m.GetGauge().GetValue())
				}
			}
			if n := len(families["assay_phase"].GetMetric()); n != 6 {
				t.Errorf("the run went through %d phases", n)
			}
		})
	}
}
