package view

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/check"
	"assay/internal/expect"
	"assay/report"
)

// put writes a file below a folder.
func put(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	expect.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// run makes a run's folder.
func run(t *testing.T, folder, name string, change func(r *report.Result)) {
	t.Helper()
	started := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	r := &report.Result{Format: report.Format, Workload: "bank", Started: started, Ended: started.Add(time.Minute), Verdict: check.Valid,
		Measurement: report.Measurement{Verdict: "valid"}, Database: report.Database{Product: "PostgreSQL", Version: "15.4"},
		Throughput: report.Throughput{PerSecond: 1000}, Latency: report.Latency{Count: 9, P50: 1, P99: 5}}
	if change != nil {
		change(r)
	}
	var text strings.Builder
	expect.NoError(t, report.WriteJSON(&text, r))
	put(t, folder, name+"/result.json", text.String())
}

// live says how a run goes that was last seen some time ago.
func live(t *testing.T, folder, name string, ago time.Duration) {
	t.Helper()
	l := report.Live{Format: report.Format, Workload: "bank", Database: "MariaDB 10.11", Stage: "working", Started: time.Now().UTC(), Updated: time.Now().Add(-ago).UTC(),
		Elapsed: 3, Duration: 12, Clients: 4, PerSecond: 50, Points: []report.LivePoint{{Second: 1, PerSecond: 40}, {Second: 2, PerSecond: 60}},
		Faults: []report.LiveFault{{Text: "kill primary", Nodes: []string{"n1"}, Injected: 1.5, Healed: -1}}, Nodes: []string{"n1", "n2"}}
	text, err := json.Marshal(l)
	expect.NoError(t, err)
	put(t, folder, name+"/live.json", string(text))
	expect.NoError(t, os.Chtimes(filepath.Join(folder, name, "live.json"), time.Time{}, time.Now().Add(-ago)))
}

func serving(t *testing.T, folder string) *Server {
	t.Helper()
	s, err := New(folder)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = s.root.Close() })
	return s
}

// get asks for an address as a browser on this machine does.
func get(s *Server, address string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8090"+address, nil)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// folders has a run of each kind.
func folders(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	run(t, folder, "good", nil)
	run(t, folder, "broken", func(r *report.Result) {
		r.Verdict, r.Throughput.PerSecond, r.Measurement.Verdict = check.Violated, 2000, "invalid"
		r.Started = r.Started.Add(time.Hour)
	})
	run(t, folder, "killed", func(r *report.Result) { r.Verdict, r.Ended = check.Unknown, r.Started })
	live(t, folder, "killed", time.Hour)
	live(t, folder, "running", 0)
	put(t, folder, "newer/result.json", `{"format": 99}`)
	put(t, folder, "half/result.json", `{"format": 1, "work`)
	put(t, folder, "begun/scenario.yaml", "workload: bank\n")
	put(t, folder, "notes/remarks.txt", "nothing")
	put(t, folder, "article/fast/one/report.html", "<p>no run</p>")
	run(t, folder, "article/fast/two", nil)
	put(t, folder, "series/series.json", `{"format": 1, "workload": "bank", "configurations": [{"name": ""}], "runs": [
		{"folder": "001-001", "state": "done", "exit": {"code": 0}}, {"folder": "002-001", "state": "waiting"}]}`)
	run(t, folder, "series/001-001", nil)
	return folder
}

// TestEveryFolderIsListed: what cannot be shown is there with the reason.
func TestEveryFolderIsListed(t *testing.T) {
	s := serving(t, folders(t))
	all, cut, err := s.entries()
	if err != nil || cut {
		t.Fatal(cut, err)
	}
	got := map[string]entry{}
	for _, e := range all {
		got[e.Path] = e
	}
	for path, want := range map[string]struct{ verdict, problem string }{
		"good": {"valid", ""}, "broken": {"violated", ""}, "killed": {stateStopped, "assay check"}, "running": {stateRunning, "working"},
		"newer": {stateUnreadable, "format version 99"}, "half": {stateUnreadable, "was cut"}, "begun": {stateStopped, "no result.json"},
		"notes": {stateNone, "no result.json"}, "article/fast/two": {"valid", ""}, "series": {stateStopped, ""}, "series/001-001": {"valid", ""},
	} {
		if e, listed := got[path]; !listed || e.Verdict != want.verdict || !strings.Contains(e.Problem, want.problem) || want.problem == "" && e.Problem != "" {
			t.Errorf("%s: %+v, want %v", path, e, want)
		}
	}
	if e := got["series"]; e.Kind != kindSeries || e.Done != 1 || e.Total != 2 || e.Database != "PostgreSQL 15.4" || got["series/001-001"].Series != "series" {
		t.Errorf("the series is %+v", e)
	}
	if len(got) != 11 {
		t.Errorf("%d entries: %v", len(got), all)
	}
	// What is unchanged is not read again; what is changed is.
	s.heads["good"] = knownHead{s.heads["good"].changed, s.heads["good"].size, entry{Workload: "known"}}
	run(t, s.folder, "broken", func(r *report.Result) { r.Workload = "isolation" })
	all, _, _ = s.entries()
	for _, e := range all {
		if e.Path == "good" && e.Workload != "known" || e.Path == "broken" && e.Workload != "isolation" {
			t.Errorf("second time: %+v", e)
		}
	}
	if len(s.heads) != 7 {
		t.Errorf("%d heads are kept", len(s.heads))
	}
}

// TestListIsFilteredAndSorted as its form and its heads ask.
func TestListIsFilteredAndSorted(t *testing.T) {
	s := serving(t, folders(t))
	for query, want := range map[string][]string{
		"q=seRIes+valid":                           {"series", "001-001"},
		"verdict=violated":                         {"broken"},
		"workload=bank&verdict=valid&sort=name":    {"two", "good", "series", "001-001"},
		"database=MariaDB+10.11":                   {"running"},
		"sort=throughput&order=down&workload=bank": {"broken", "good"},
		"sort=throughput&order=up&q=o":             {"good", "broken"},
		"q=nowhere":                                {"No run matches"},
		"sort=x%27&order=%3Cscript&page=-3":        {"broken"},
	} {
		w := get(s, "/?"+query)
		rest := w.Body.String()
		if w.Code != http.StatusOK || strings.Contains(rest, "<script&") || strings.Contains(rest, "<scriptx") {
			t.Errorf("%s: %d", query, w.Code)
		}
		if at := strings.Index(rest, "<tbody>"); at >= 0 {
			rest = rest[at:]
		}
		for _, name := range want {
			_, after, found := strings.Cut(rest, name)
			if !found {
				t.Errorf("%s: %q is not there in this order", query, name)
			}
			rest = after
		}
	}
	if page := get(s, "/?verdict=violated").Body.String(); strings.Contains(page, "/good") || !strings.Contains(page, "1 to 1 of 1, 11 without the filter") || !strings.Contains(page, `aria-sort="descending"`) {
		t.Error("the filter lets others through, or says something else")
	}
}

// TestManyRunsArePaged: a page of the list has a bound.
func TestManyRunsArePaged(t *testing.T) {
	folder := t.TempDir()
	for i := range pageLength + 5 {
		put(t, folder, fmt.Sprintf("run-%03d/result.json", i), `{"format": 1, "workload": "bank"}`)
	}
	s := serving(t, folder)
	for page, rows := range map[string]int{"": pageLength, "?page=2": 5, "?page=99": 5} {
		if got := strings.Count(get(s, "/"+page).Body.String(), `<th scope="row">`); got != rows {
			t.Errorf("page %q has %d rows, want %d", page, got, rows)
		}
	}
}

// TestOnlyKnownFilesAreServed: no way out of the folder, by dots or by links, and no
// other files in it.
func TestOnlyKnownFilesAreServed(t *testing.T) {
	outside := t.TempDir()
	put(t, outside, "report.html", "secret")
	put(t, outside, "run/result.json", "secret")
	folder := folders(t)
	put(t, folder, "good/report.html", "<h1>fine</h1>")
	put(t, folder, "good/history.bin", "secret")
	put(t, folder, "good/password.txt", "secret")
	for link, to := range map[string]string{"linked": outside, "good/scenario.yaml": filepath.Join(outside, "report.html")} {
		expect.NoError(t, os.Symlink(to, filepath.Join(folder, link)))
	}
	s := serving(t, folder)
	for _, address := range []string{
		"/files/good/history.bin", "/files/good/password.txt", "/files/good/", "/files/good", "/files/linked/report.html", "/files/linked/run/result.json",
		"/files/%2e%2e/report.html", "/files/good/%2e%2e/%2e%2e/report.html", "/files//etc/passwd", "/files/good/scenario.yaml", "/files/..%5creport.html",
		"/files/good%00/report.html", "/series/linked/run", "/follow/linked/run", "/follow/%2e%2e", "/compare?run=linked/run&run=../x", "/compare?run=good", "/x", "/assets/view.js",
	} {
		if w := get(s, address); w.Code < 300 || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %d %s", address, w.Code, w.Body)
		}
	}
	w := get(s, "/files/good/report.html")
	if w.Code != http.StatusOK || w.Body.String() != "<h1>fine</h1>" || !strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "sandbox allow-scripts;") {
		t.Errorf("the report: %d %s, %v", w.Code, w.Body, w.Header())
	}
	if w := get(s, "/files/good/result.json"); w.Header().Get("Content-Type") != "application/json" || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the result: %v", w.Header())
	}
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", nil)
	posted := httptest.NewRecorder()
	s.ServeHTTP(posted, r)
	if posted.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", posted.Code)
	}
}

// TestOtherNamesAreRefused: a name that its owner points at this machine is none of it.
func TestOtherNamesAreRefused(t *testing.T) {
	s := serving(t, folders(t))
	for host, want := range map[string]int{
		"127.0.0.1:8090": 200, "localhost:1": 200, "LOCALHOST": 200, "[::1]:8090": 200, "127.9.9.9": 200,
		"evil.example:8090": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "192.168.0.1:8090": 421, "": 421, "0.0.0.0": 421,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want || !strings.Contains(w.Header().Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("host %q: %d, want %d", host, w.Code, want)
		}
		if want == 421 && strings.Contains(w.Body.String(), "broken") {
			t.Errorf("host %q is shown the runs", host)
		}
	}
}

// TestARunIsFollowedToItsEnd: events come while it goes, and the last one says that it
// has ended; then its page leads to the report.
func TestARunIsFollowedToItsEnd(t *testing.T) {
	folder := folders(t)
	s := serving(t, folder)
	server := httptest.NewServer(s)
	defer server.Close()
	answer, err := http.Get(server.URL + "/events/running")
	expect.NoError(t, err)
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("the events are %s", kind)
	}
	seen, ended := "", false
	for lines := bufio.NewScanner(answer.Body); !ended && lines.Scan(); {
		line := lines.Text()
		seen += line + "\n"
		ended = line == "event: end"
		if line == "" && strings.Count(seen, "\n\n") == 1 { // after the first event
			put(t, folder, "running/report.html", "the end")
			expect.NoError(t, os.Remove(filepath.Join(folder, "running/live.json")))
		}
	}
	expect.Text(t, "the events", seen, `data: <div id="stage"`, "kill primary n1, <strong>in effect</strong>", "Nodes: n1, n2", `<svg viewBox`)
	if !ended {
		t.Errorf("no end in %s", seen)
	}
	if w := get(s, "/follow/running"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/files/running/report.html" {
		t.Errorf("afterwards: %d %v", w.Code, w.Header())
	}
	if w := get(s, "/follow/killed"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "assay check") {
		t.Errorf("a killed run: %d", w.Code)
	}
}

// TestSideBySide: what was not made alike is told at the top, and refuses nothing.
func TestSideBySide(t *testing.T) {
	s := serving(t, folders(t))
	page := get(s, "/compare?run=good&run=broken").Body.String()
	expect.Text(t, "the page", page, "broken against good", "VIOLATED", `<a href="/">All runs</a>`)
	run(t, s.folder, "other", func(r *report.Result) { r.Workload = "isolation" })
	expect.Text(t, "unlike runs", get(s, "/compare?run=good&run=other").Body.String(), "good and other were not made alike: they differ in workload", "--allow all")
	if w := get(s, "/compare?run=good&run=newer"); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "format version 99") {
		t.Errorf("another version: %d", w.Code)
	}
	if w := get(s, "/series/series"); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "a series of 1 run") {
		t.Errorf("a series: %d %s", w.Code, w.Body)
	}
}

// TestOneRunIsShown: the folder may be a run itself.
func TestOneRunIsShown(t *testing.T) {
	folder := t.TempDir()
	run(t, folder, ".", nil)
	put(t, folder, "report.html", "itself")
	s := serving(t, folder)
	expect.Text(t, "the list", get(s, "/").Body.String(), `href="/files/report.html">this folder`)
	if w := get(s, "/files/report.html"); w.Body.String() != "itself" {
		t.Error(w.Body)
	}
	if _, err := New(filepath.Join(folder, "missing")); err == nil || !strings.Contains(err.Error(), "name a folder") {
		t.Error(err)
	}
}

// A study has an entry of its own, which leads to its article and has the gravest verdict of
// all its experiments' runs.
func TestStudies(t *testing.T) {
	folder := t.TempDir()
	put(t, folder, "study/study.yaml", "title: A study\n")
	s := serving(t, folder)
	if w := get(s, "/"); !strings.Contains(w.Body.String(), "study, 0 of 0 runs") || strings.Contains(w.Body.String(), "study.html") {
		t.Errorf("a study that has just begun: %s", w.Body)
	}
	put(t, folder, "study/study.html", "<h1>A study</h1>")
	for i, name := range []string{"first", "second"} {
		put(t, folder, "study/"+name+"/series.json", `{"format":1,"workload":"bank","configurations":[{"name":"","values":[]}],"runs":[{"folder":"001-001","state":"done"},{"folder":"001-002","state":"waiting"}]}`)
		run(t, folder, "study/"+name+"/001-001", func(r *report.Result) {
			if i == 1 {
				r.Verdict = check.Violated
			}
		})
	}
	all, _, err := s.entries()
	expect.NoError(t, err)
	if len(all) != 5 || all[0].Kind != kindStudy || all[0].Verdict != "violated" || all[0].Done != 2 || all[0].Total != 4 || all[1].Kind != kindSeries || all[2].Series != "study/first" {
		t.Fatalf("%+v", all)
	}
	if w := get(s, "/"); !strings.Contains(w.Body.String(), `href="/files/study/study.html"`) || !strings.Contains(w.Body.String(), "study, 2 of 4 runs") {
		t.Errorf("%s", w.Body)
	}
	if w := get(s, "/files/study/study.html"); w.Code != http.StatusOK || w.Body.String() != "<h1>A study</h1>" || !strings.Contains(w.Header().Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestSeriesWithFailedRuns: a run that could not be made leaves no folder, and counts all the same.
func TestSeriesWithFailedRuns(t *testing.T) {
	folder := t.TempDir()
	put(t, folder, "s/series.json", `{"format":1,"workload":"bank","configurations":[{"name":"","values":[]}],"runs":[{"folder":"001-001","state":"done"},{"folder":"001-002","state":"failed"}]}`)
	run(t, folder, "s/001-001", nil)
	put(t, folder, "n/series.json", `{"format":1,"workload":"bank","configurations":[{"name":"","values":[]}],"runs":[{"folder":"001-001","state":"failed"}]}`)
	put(t, folder, "v/series.json", `{"format":1,"workload":"bank","configurations":[{"name":"","values":[]}],"runs":[{"folder":"001-001","state":"done"},{"folder":"001-002","state":"failed"}]}`)
	run(t, folder, "v/001-001", func(r *report.Result) { r.Verdict = check.Violated })
	all, _, err := serving(t, folder).entries()
	expect.NoError(t, err)
	got := map[string]string{}
	for _, e := range all {
		got[e.Path] = e.Verdict
	}
	for path, want := range map[string]string{"s": "unknown", "n": "unknown", "v": "violated"} {
		if got[path] != want {
			t.Errorf("%s is %s, want %s", path, got[path], want)
		}
	}
}

// TestRowsSayWhatDiffers: a run of a series is listed with what the series varies.
func TestRowsSayWhatDiffers(t *testing.T) {
	folder := t.TempDir()
	put(t, folder, "s/series.json", `{"format": 1, "workload": "bank", "configurations": [{"name": "clients=8"}], "runs": [{"folder": "001-001", "configuration": "clients=8", "repeat": 1, "state": "done"}]}`)
	put(t, folder, "s/001-001/result.json", `{"format": 1, "workload": "bank", "verdict": "valid", "database": {"product": "SQLite", "version": "3"}}`)
	put(t, folder, "alone/result.json", `{"format": 1, "workload": "bank", "verdict": "valid", "database": {"product": "MongoDB", "version": "6"}, "cluster": {"spec": "mongodb:3"}}`)
	s, err := New(folder)
	expect.NoError(t, err)
	page := get(s, "/").Body.String()
	for _, want := range []string{"SQLite 3<br>clients=8", "MongoDB 6<br>mongodb:3"} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not in %s", want, page)
		}
	}
}
