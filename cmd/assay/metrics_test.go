package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	collector "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	"google.golang.org/protobuf/proto"

	dto "github.com/prometheus/client_model/go"

	"assay/internal/expect"
	"assay/report"
)

// TestMetricsWhileRunning scrapes a run under way, as Prometheus does, and holds the last
// answer against what the run says of itself in the end. The dashboard in docs asks for
// nothing that the answer does not have.
func TestMetricsWhileRunning(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, command{dir: dir, watched: true, args: []string{"run", "bank", "--accounts", "100", "--duration", "5m", "--warmup", "0s", "--out", "saved", "--metrics", "127.0.0.1:0"}})
	p.until("metrics: http://")
	url := regexp.MustCompile(`http://\S+/metrics`).FindString(p.err.String())
	var text string
	var seen int64
	p.untilTrue("committed operations in "+url, func() bool {
		text = get(t, url)
		seen = committedIn(t, text)
		return seen > 0 && strings.Contains(text, `assay_phase{phase="measuring"} 1`)
	})
	p.signal(syscall.SIGINT)
	p.wait().want(t, exitNoVerdict)
	r, err := report.ReadJSON(filepath.Join(dir, "saved", report.FileResult))
	expect.NoError(t, err)
	if seen > r.Outcomes.Committed {
		t.Errorf("%d operations had committed, and at the end it was %d", seen, r.Outcomes.Committed)
	}
	if strings.Contains(text, dir) || strings.Contains(text, "sqlite:") {
		t.Error("the address of the database is in what everybody can read")
	}
	if answer, err := http.Get(url); err == nil {
		_ = answer.Body.Close()
		t.Errorf("after the run it still answers %s", answer.Status)
	}
	// Metrics of faults and errors are there once there is one.
	known := text + " assay_fault_active assay_faults_total assay_errors_total"
	asked := regexp.MustCompile(`assay_[a-z_]+`).FindAllString(readFile(t, "..", "..", "docs", "grafana-dashboard.json"), -1)
	if len(asked) < 10 {
		t.Errorf("the dashboard asks for %v only", asked)
	}
	expect.Text(t, "the dashboard asks for", known, asked...)
}

func get(t *testing.T, url string) string {
	t.Helper()
	answer, err := http.Get(url)
	expect.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	expect.NoError(t, err)
	return string(text)
}

// committedIn sums the committed operations of an answer.
func committedIn(t *testing.T, text string) (n int64) {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	expect.NoError(t, err)
	committed := func(l *dto.LabelPair) bool { return l.GetName() == "outcome" && l.GetValue() == "committed" }
	for _, m := range families["assay_operations_total"].GetMetric() {
		for _, l := range m.GetLabel() {
			if committed(l) {
				n += int64(m.GetCounter().GetValue())
			}
		}
	}
	return n
}

// TestSent: the figures of a run reach a receiver of OTLP, those of the end too.
func TestSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var mu sync.Mutex
	committed := 0.0
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		text, err := io.ReadAll(r.Body)
		var sent collector.ExportMetricsServiceRequest
		if err := errors.Join(err, proto.Unmarshal(text, &sent)); err != nil {
			t.Error(err)
		}
		if n := committedOf(&sent); n > 0 {
			committed = n
		}
		if strings.Contains(string(text), dir) {
			t.Error("the address of the database is in what is sent")
		}
	}))
	defer receiver.Close()
	assay(t, dir, "run", "bank", "--ops", "300", "--accounts", "100", "--audits", "0", "--out", "saved", "--quiet", "--otlp", receiver.URL).want(t, exitValid)
	r, err := report.ReadJSON(filepath.Join(dir, "saved", report.FileResult))
	expect.NoError(t, err)
	if committed != float64(r.Outcomes.Committed) || committed == 0 {
		t.Errorf("%v committed operations were sent, and there were %d", committed, r.Outcomes.Committed)
	}
}

// committedOf sums the committed operations of what is sent.
func committedOf(sent *collector.ExportMetricsServiceRequest) (n float64) {
	for _, resource := range sent.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				for _, p := range m.GetSum().GetDataPoints() {
					if m.GetName() == "assay_operations_total" && strings.Contains(p.String(), `"committed"`) {
						n += p.GetAsDouble()
					}
				}
			}
		}
	}
	return n
}

// TestMetricsRefused: an address that is none, or that is taken, ends the command before
// anything is made.
func TestMetricsRefused(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer taken.Close()
	dir := t.TempDir()
	for address, code := range map[string]int{"nonsense": exitUsage, taken.Addr().String(): exitCannotRun} {
		for _, more := range [][]string{nil, {"--repeat", "2"}} {
			args := append([]string{"run", "bank", "--db", "mem://", "--ops", "10", "--out", "saved", "--metrics", address}, more...)
			assay(t, dir, args...).want(t, code).complaint(t)
		}
	}
	for address, code := range map[string]int{"nonsense": exitUsage, "http://me:hush@127.0.0.1:1": exitUsage, "http://127.0.0.1:1": exitCannotRun} {
		if said := assay(t, dir, "run", "bank", "--db", "mem://", "--ops", "10", "--out", "saved", "--otlp", address).want(t, code).complaint(t); strings.Contains(said, "hush") {
			t.Errorf("the password is told: %s", said)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it left %v, %v", left, err)
	}
}
