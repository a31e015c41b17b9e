package monitor

import (
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"assay/history"
	"assay/internal/expect"
)

func scrape(t *testing.T, address string) map[string]*dto.MetricFamily {
	t.Helper()
	answer, err := http.Get("http://" + address + "/metrics")
	expect.NoError(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("the answer is %s", answer.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	expect.NoError(t, err)
	return families
}

// labelled is a family's metric with these labels, "name=value".
func labelled(t *testing.T, families map[string]*dto.MetricFamily, name string, labels ...string) *dto.Metric {
	t.Helper()
	for _, m := range families[name].GetMetric() {
		var have []string
		for _, l := range m.GetLabel() {
			have = append(have, l.GetName()+"="+l.GetValue())
		}
		all := " " + strings.Join(have, " ") + " "
		found := true
		for _, l := range labels {
			found = found && strings.Contains(all, " "+l+" ")
		}
		if found {
			return m
		}
	}
	t.Fatalf("there is no %s with %v in %v", name, labels, families[name])
	return nil
}

func work(m *Metrics) {
	m.Phase("loading")
	m.Begin("id", "bank", "PostgreSQL", "test", map[uint8]string{1: "transfer", 2: "audit"})
	m.Phase("measuring")
	m.Clients(4)
	m.Fault("kill", "primary", []string{"n1"}, true)
	m.Fault("pause", "any", []string{"n2"}, true)
	m.Fault("pause", "any", []string{"n2"}, false)
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for i := range 250 {
				op := history.Op{Kind: 1, Attempt: 1, Last: true, Due: 1e6, First: 2e6, Start: 2e6, End: 5e6, Outcome: history.Committed, Final: history.Committed}
				if i%10 == 0 {
					op.Outcome, op.Final, op.Error = history.Failed, history.Failed, "deadlock"
				}
				m.Recorded(&op)
			}
		})
	}
	clients.Wait()
	m.Recorded(&history.Op{Kind: 1, Attempt: 1, Outcome: history.Unknown, Error: "connection lost"}) // not its last
	m.Recorded(&history.Op{Kind: 9, Last: true, Outcome: 77, Final: 77})
}

func TestServe(t *testing.T) {
	m := New("test")
	s, err := Serve("127.0.0.1:0", m)
	expect.NoError(t, err)
	work(m)
	got := scrape(t, s.Address().String())
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{900, "assay_operations_total", []string{"operation=transfer", "outcome=committed"}},
		{100, "assay_operations_total", []string{"operation=transfer", "outcome=failed"}},
		{0, "assay_operations_total", []string{"operation=audit", "outcome=committed"}},
		{1, "assay_operations_total", []string{"operation=other", "outcome=unknown"}},
		{1, "assay_attempts_total", []string{"operation=transfer", "outcome=unknown"}},
		{100, "assay_errors_total", []string{"class=deadlock", "outcome=failed"}},
		{1, "assay_faults_total", []string{"action=kill"}},
	} {
		if v := labelled(t, got, want.name, want.labels...).GetCounter().GetValue(); v != want.value {
			t.Errorf("%s %v is %v, want %v", want.name, want.labels, v, want.value)
		}
	}
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{4, "assay_clients", nil},
		{0, "assay_phase", []string{"phase=loading"}},
		{1, "assay_phase", []string{"phase=measuring"}},
		{1, "assay_fault_active", []string{"action=kill", "nodes=n1"}},
		{0, "assay_fault_active", []string{"action=pause"}},
		{1, "assay_run_info", []string{"workload=bank", "database=PostgreSQL"}},
		{1, "assay_build_info", []string{"version=test"}},
	} {
		if v := labelled(t, got, want.name, want.labels...).GetGauge().GetValue(); v != want.value {
			t.Errorf("%s %v is %v, want %v", want.name, want.labels, v, want.value)
		}
	}
	response := labelled(t, got, "assay_response_time_seconds", "operation=transfer").GetHistogram()
	service := labelled(t, got, "assay_service_time_seconds", "operation=transfer").GetHistogram()
	if n := response.GetSampleCount(); n != 900 || response.GetSampleSum() < 3.59 || response.GetSampleSum() > 3.61 || service.GetSampleSum() < 2.69 || service.GetSampleSum() > 2.71 {
		t.Errorf("%d response times of %v s, service times of %v s", n, response.GetSampleSum(), service.GetSampleSum())
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again, err := net.Listen("tcp", s.Address().String())
	if err != nil {
		t.Fatalf("the address is not free after Close: %v", err)
	}
	_ = again.Close() // it was only tried
}

// TestServeRefuses: a bad address and a taken one have different errors.
func TestServeRefuses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer taken.Close()
	var malformed *AddressError
	for _, address := range []string{"", "9464", "127.0.0.1:port", "127.0.0.1:99999", "a:b:c"} {
		if _, err := Serve(address, New("test")); !errors.As(err, &malformed) || !strings.Contains(err.Error(), "HOST:PORT") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := Serve(taken.Addr().String(), New("test")); err == nil || errors.As(err, &malformed) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("of a place that is taken it says %v", err)
	}
}

// TestOtherPaths do not exist.
func TestOtherPaths(t *testing.T) {
	s, err := Serve("127.0.0.1:0", New("test"))
	expect.NoError(t, err)
	defer s.Close()
	for path, want := range map[string]int{"/": http.StatusOK, "/debug/pprof/": http.StatusNotFound} {
		answer, err := http.Get("http://" + s.Address().String() + path)
		expect.NoError(t, err)
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}
