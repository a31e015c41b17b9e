package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"assay/cluster"
	"assay/driver/drivertest"
	"assay/internal/expect"
)

// howFar is how far the test lets a documented command go. Addresses become
// those of the test's own servers, a service listens on a free port, and what
// waits for a fault waits for a quarter of its time (sooner); nothing else is
// changed. What takes too long is interrupted, as a user would.
type howFar int

const (
	// toItsEnd lets it end by itself, sooner if it has servers or faults.
	toItsEnd howFar = iota + 1
	// untilWork interrupts it when clients begin to work: the command line, the
	// schedule of faults, the servers, the address and its options are right.
	untilWork
	// untilServersStart interrupts it when its servers are being started: the
	// command line is right, and so is its schedule of faults. Package fault has each
	// fault happen and be healed.
	untilServersStart
	// untilLoading interrupts it when rows are being loaded, which in these
	// workloads takes minutes.
	untilLoading
	// untilFirstRun interrupts a study or a series when its first run begins: the file, the
	// command line and all configurations are right. TestStudyAsAWhole, TestSeriesAndCompare,
	// TestSweep and TestAdvise make smaller ones to their end.
	untilFirstRun
	// untilFirstEvent interrupts the tries of an application when it has run untouched. TestApplications
	// has them go to their end.
	untilFirstEvent
	// untilServing interrupts a service when it listens.
	untilServing
	// untilAgents interrupts a run that waits for agents.
	untilAgents
	// untilViewing interrupts the pages when they are there.
	untilViewing
	// untilUnreachable lets it end at a server that is not there: the address, its
	// parameters and the files that it names are right. What follows from them is
	// tried against real servers by TestEncryptedConnections of each driver.
	untilUnreachable
	// notRun is not run, for the reason that is given; what it names must exist.
	notRun
)

// documentedRule says how the commands are run that a pattern matches.
type documentedRule struct {
	where   string // a part of the document's name
	pattern string
	far     howFar
	codes   []int  // nil for any but those of a command that cannot be used
	why     string // of notRun
}

// documented says how each command of the documents and of help is run: the
// first rule whose pattern its line matches. A command without a rule fails the
// test.
var documented = []documentedRule{
	{pattern: `^make (test|trust|managers|mysql|record|build|install|servers|check)\b`, far: notRun, why: "it runs or builds what this test is a part of; the Makefile must have the target"},
	{pattern: `^assay app .* examples/application/`, far: untilFirstEvent, codes: []int{exitNoVerdict}},
	{pattern: `^assay app `, far: notRun, why: "it takes an application; TestApplications has some"},
	{where: "first-run.md", pattern: `^assay `, far: notRun, why: "TestTutorial runs all of it in its order"},
	{pattern: `^sudo make install\b`, far: notRun, why: "it writes outside of the repository"},
	{pattern: `^go test \./runner -run TestNoFalseConvictions `, far: notRun, why: "it is a test of that package"},
	{pattern: `^go test \./runner .*-trust\.seeds=1000`, far: notRun, why: "a thousand runs; TestTrust itself is run with fewer seeds"},
	{pattern: `^ASSAY_TRANSFERS=\d+ \S+ go test \./check/ledger `, far: notRun, why: "a hundred million transfers; TestRowsInAFile judges fewer from a file"},
	{pattern: `^(pip install|locust) `, far: notRun, why: "another program, from a registry"},
	{pattern: `^curl -s http://127\.0\.0\.1:8080/openapi\.json$`, far: notRun, why: "TestDocumentedService asks for it"},
	{pattern: `^assay run entity --db http://127\.0\.0\.1:8080`, far: notRun, why: "TestDocumentedService runs it"},
	{pattern: `^(ASSAY_ENGINE=\S+ )?assay agent\b`, far: notRun, why: "it waits for a run; TestCoordinatorIsKilled starts agents by the line that a run prints"},
	{pattern: ` --nodes `, far: notRun, why: "it needs machines of the user's; fault's TestHosts has servers"},
	{pattern: `^assay kubernetes |--kubernetes `, far: notRun, why: "it needs a Kubernetes cluster; TestKubernetes has an API server"},
	{where: "kubernetes.md", pattern: `^docker `, far: notRun, why: "it needs containers; TestChart has the API server look at what uses the image"},
	{pattern: ` --use-existing`, far: notRun, why: "it needs tables of the user's; TestExistingTables makes some"},
	{pattern: `^assay run ycsb -P examples/`, far: toItsEnd, codes: []int{exitValid}},
	{pattern: `--agents \d`, far: untilAgents, codes: []int{exitNoVerdict}},
	{pattern: `^assay serve `, far: untilServing, codes: []int{exitValid}},
	{pattern: `^assay view\b`, far: untilViewing, codes: []int{exitValid}},
	{pattern: `^assay cluster (up|status|down) `, far: notRun, why: "TestClusterIsKept goes through the three with a smaller cluster"},
	{where: "my-database.md", pattern: `db\.example`, far: untilUnreachable, codes: []int{exitCannotRun}},
	{pattern: `^assay cluster status$`, far: toItsEnd, codes: []int{exitValid}},
	{pattern: `^assay known$`, far: toItsEnd, codes: []int{exitValid}},
	{pattern: `^assay known `, far: notRun, why: "TestKnownBug finds one, make record all"},
	{pattern: `^assay hunt --cluster `, far: untilServersStart, codes: []int{exitNoVerdict}}, // TestHunt makes a short one
	{pattern: `^assay hunt --resume `, far: notRun, why: "TestHunt goes on with one"},
	{pattern: `^assay durability --cluster `, far: untilServersStart, codes: []int{exitNoVerdict}},
	{pattern: `^assay isolation-matrix --cluster `, far: untilServersStart, codes: []int{exitNoVerdict}},
	{pattern: `^assay (check|repro|export|report|list|version|completion)\b`, far: toItsEnd, codes: []int{exitValid, exitViolated, exitNoVerdict}},
	{pattern: `--cluster mysql:`, far: notRun, why: "make test installs no MySQL; the tests named TestOnMySQL start it"},
	{pattern: `^assay run bank --db null://`, far: untilWork, codes: []int{exitNoVerdict}},
	{pattern: `--duration 1m$`, far: untilWork},
	{pattern: `^assay run bank .*--repeat `, far: untilFirstRun, codes: []int{exitNoVerdict}},
	{pattern: `^assay study (--schema|\S+( --size \w+)? --dry-run)$`, far: toItsEnd, codes: []int{exitValid}},
	{pattern: `^assay study `, far: untilFirstRun, codes: []int{exitNoVerdict}},
	{pattern: `^assay (sweep|advise) `, far: untilFirstRun, codes: []int{exitNoVerdict}},
	{pattern: `^assay trend `, far: toItsEnd, codes: []int{exitValid}},
	{pattern: `^assay compare .*--gate`, far: toItsEnd, codes: []int{exitNoVerdict}}, // the runs that the test makes are too short for a gate
	{pattern: `^assay compare `, far: toItsEnd, codes: []int{exitValid}},
	{pattern: `^assay run bank --db ('host=127\.0\.0\.1 |'mysql:)`, far: untilUnreachable, codes: []int{exitCannotRun}},
	{pattern: `^assay run bank --db mysql://$`, far: notRun, why: "it goes to a server of the user's; TestOptionsOfTheUser has one"},
	{where: "README.md", pattern: `--cluster `, far: untilServersStart, codes: []int{exitNoVerdict}}, // TestTutorial and TestFaultsInARun have one to its end
	{pattern: `^assay run .* --cluster `, far: untilServersStart, codes: []int{exitNoVerdict}},
	{pattern: `^assay run (candles|bulkupdate|churn|tpcc)\b`, far: untilLoading},
	{where: "trust.md", pattern: `^assay run bank --db 'mem:`, far: toItsEnd, codes: []int{exitViolated}},
	{pattern: `^(ASSAY_DB=\S+ )?assay run \w+`, far: untilWork},
}

// placeholder is an address in the documents for which the test has a server.
var placeholder = regexp.MustCompile(`'?(postgres|mongodb)://[^\s']*'?`)

// TestDocumentedCommands runs every command of the README, of docs and of help.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	mongodb := serverFor(t, "mongodb:1")
	runs := documentedRuns(t)
	used := make([]bool, len(documented))
	run := map[string]howFar{}
	for i, d := range documentedCommands(t) {
		line := strings.Replace(d.line, "go run ./cmd/assay ", "assay ", 1)
		at := slices.IndexFunc(documented, func(r documentedRule) bool {
			return strings.Contains(d.where, r.where) && regexp.MustCompile(r.pattern).MatchString(line)
		})
		if at < 0 {
			t.Errorf("%s: nothing says how %q is run; enter it in the table", d.where, d.line)
			continue
		}
		used[at] = true
		rule := documented[at]
		if rule.far == notRun {
			exists(t, d)
			continue
		}
		if far := run[line]; far == toItsEnd || far == rule.far {
			continue // the README's comes first
		}
		run[line] = rule.far
		t.Run(d.where, func(t *testing.T) {
			t.Parallel()
			if rule.far == untilUnreachable {
				line = strings.NewReplacer("db.example", "127.0.0.1:1", "port=5432", "port=1").Replace(line)
			} else if found := placeholder.FindStringSubmatch(line); found != nil {
				server := mongodb
				if found[1] == "postgres" {
					server = &documentedServer{address: databaseOf(t, fmt.Sprintf("documented_%d", i))}
				}
				server.oneAtATime.Lock()
				defer server.oneAtATime.Unlock()
				line = strings.Replace(line, found[0], "'"+server.address+"'", 1)
			}
			e := runDocumented(t, runs, line, rule.far)
			wrong := e.code == exitUsage || e.code == exitCannotRun || e.code < 0
			if rule.codes != nil {
				wrong = !slices.Contains(rule.codes, e.code)
			}
			if rule.far == untilUnreachable && !strings.Contains(e.stderr, "cannot reach") {
				wrong = true
			}
			if wrong {
				t.Errorf("%s\nended with %d, want %v: %v", d.line, e.code, rule.codes, e)
			}
		})
	}
	for i, rule := range documented {
		if !used[i] && rule.far == toItsEnd && rule.where != "" {
			t.Errorf("no document has a command like %s any more", rule.pattern)
		}
	}
}

// sooner has what a line waits for come in a quarter of the time: its faults, and the end of a run
// that has some.
func sooner(line string) string {
	if !strings.Contains(line, "--fault") {
		return line
	}
	return regexp.MustCompile(`\b(at|for) \d+s\b|--duration \d+s\b`).ReplaceAllStringFunc(line, func(text string) string {
		at := strings.LastIndex(text, " ") + 1
		d, _ := time.ParseDuration(text[at:]) // it is one
		return text[:at] + (d / 4).String()
	})
}

// runDocumented runs a line in a folder of its own that has the files which
// the documents name.
func runDocumented(t *testing.T, runs, line string, far howFar) ended {
	t.Helper()
	dir := t.TempDir()
	if far == toItsEnd {
		line = sooner(line)
	}
	if strings.HasPrefix(line, "assay check ") || strings.HasPrefix(line, "assay repro ") || strings.HasPrefix(line, "assay export ") || strings.HasPrefix(line, "assay report ") {
		line = documentedFiles(t, runs, dir, line)
	}
	if strings.HasPrefix(line, "assay compare ") || strings.HasPrefix(line, "assay trend ") {
		expect.NoError(t, os.CopyFS(dir, os.DirFS(runs)))
	}
	if strings.HasPrefix(line, "assay compare baseline.json ") {
		expect.NoError(t, os.Rename(filepath.Join(dir, "kept.json"), filepath.Join(dir, "baseline.json")))
	}
	if strings.HasPrefix(line, "assay study ") {
		documentedStudies(t, dir)
	}
	if strings.Contains(line, " examples/") {
		expect.NoError(t, os.CopyFS(filepath.Join(dir, "examples"), os.DirFS(filepath.Join("..", "..", "examples"))))
	}
	if far == untilUnreachable {
		documentedCertificates(t, dir)
		line += " --connect-timeout 1s"
	}
	line = strings.Replace(line, "-- python3 ", "-- /usr/bin/python3 ", 1) // which has the drivers
	writeFile(t, "sqlite:staging.sqlite\n", dir, "staging.db")
	if far == untilViewing {
		expect.NoError(t, os.Mkdir(filepath.Join(dir, "runs"), 0o755))
	}
	if far == untilServing || far == untilViewing {
		line += " --listen 127.0.0.1:0" // another program may have the documented port
	}
	line = strings.Replace(line, "--metrics 127.0.0.1:9464", "--metrics 127.0.0.1:0", 1) // as well
	if documented := "http://127.0.0.1:4318"; strings.Contains(line, documented) {
		receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		t.Cleanup(receiver.Close)
		line = strings.Replace(line, documented, receiver.URL, 1)
	}
	p := startLine(t, dir, line, "STAGING=sqlite:staging.sqlite")
	switch far {
	case untilWork:
		p.until("working: ")
	case untilFirstRun:
		p.until("run 1 of ")
	case untilFirstEvent:
		p.until("try 1 of ")
	case untilServersStart:
		p.until("starting ")
	case untilLoading:
		p.until("loading ")
	case untilAgents:
		p.until("waiting for agents")
	case untilViewing:
		p.until("showing the runs of ")
	case untilServing:
		p.until("serving ")
	case toItsEnd, untilUnreachable:
		<-p.done // at most some tens of seconds; go test has a limit
		return p.wait()
	}
	_ = p.cmd.Process.Signal(syscall.SIGINT) // fails if it has just ended
	return p.wait()
}

// startLine starts a line as a user would type it, with these variables.
func startLine(t *testing.T, dir, line string, env ...string) *process {
	t.Helper()
	// A line may begin with variables; and the signal is for assay, not for sh.
	return start(t, command{dir: dir, shell: "exec env " + line, env: append(env, "PATH="+filepath.Dir(binary)+":"+os.Getenv("PATH"))})
}

// documentedFiles makes the histories and copies the saved run that a line names, and
// returns the line with the run's folder.
func documentedFiles(t *testing.T, runs, dir, line string) string {
	t.Helper()
	for name, text := range map[string]string{
		"history.edn":     "{:type :invoke, :process 0, :f :txn, :value [[:append 2 1]]}\n{:type :ok, :process 0, :f :txn, :value [[:append 2 1]]}\n{:type :invoke, :process 0, :f :txn, :value [[:r 2 nil]]}\n{:type :ok, :process 0, :f :txn, :value [[:r 2 [1]]]}\n",
		"history.jsonl":   `{"index":0,"type":"invoke","process":0,"f":"txn","value":[["append",2,1]]}` + "\n" + `{"index":1,"type":"ok","process":0,"f":"txn","value":[["append",2,1]]}` + "\n",
		"rw-register.edn": "{:type :invoke, :process 0, :f :txn, :value [[:w 2 1] [:r 2 nil]]}\n{:type :ok, :process 0, :f :txn, :value [[:w 2 1] [:r 2 1]]}\n",
		"skew.edn":        skewed,
		"register.edn":    "{:type :invoke, :process 0, :f :read, :value nil}\n{:type :ok, :process 0, :f :read, :value 0}\n",
		"bank.edn":        "{:type :invoke, :process 1, :f :read, :value nil}\n{:type :ok, :process 1, :f :read, :value {1 90, 2 10}}\n",
	} {
		if strings.Contains(line, "--out "+name) {
			continue
		}
		writeFile(t, text, dir, name)
	}
	folder := regexp.MustCompile(`runs/\d{8}T\d{6}Z-(\w+)-sqlite|\bDIR\b`)
	if found := folder.FindStringSubmatch(line); found != nil {
		expect.NoError(t, os.CopyFS(filepath.Join(dir, "saved"), os.DirFS(filepath.Join(runs, cmp.Or(found[1], "bank")))))
		line = folder.ReplaceAllLiteralString(line, "saved")
	}
	return line
}

// documentedStudies copies the studies, whose files the documents name.
func documentedStudies(t *testing.T, dir string) {
	t.Helper()
	expect.NoError(t, os.CopyFS(filepath.Join(dir, "studies"), os.DirFS(filepath.Join("..", "..", "studies"))))
}

// documentedRuns makes the runs, the series and the baseline that documents name, short ones, and
// returns their folder. Those that are compared have a p99 also where assay stands still for a time.
func documentedRuns(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, workload := range []string{"bank", "isolation"} {
		assay(t, dir, "run", workload, "--ops", "50", "--out", workload, "--quiet").want(t, exitValid, exitNoVerdict)
	}
	for name, of := range map[string][]string{"series": {"1,4", "5"}, "before": {"2", "5"}, "after": {"2", "5"}, "nightly": {"2", "10"}} { // as many as a trend takes
		assay(t, dir, "run", "bank", "--db", "mem://", "--ops", "1500", "--accounts", "100", "--clients", of[0], "--repeat", of[1], "--out", name, "--quiet").
			want(t, exitValid, exitNoVerdict)
	}
	assay(t, dir, "compare", "before", "--keep", "kept.json").want(t, exitValid)
	return dir
}

// documentedCertificates makes the certificates and keys that docs/guides/my-database.md names.
func documentedCertificates(t *testing.T, dir string) {
	t.Helper()
	authority := drivertest.NewAuthority(t, "documents")
	client := authority.Client("me")
	certificate, key := readFile(t, client.Certificate), readFile(t, client.Key)
	for name, text := range map[string]string{
		"ca.pem": readFile(t, authority.File), "me.pem": certificate, "me.key": key, "both.pem": certificate + key,
	} {
		writeFile(t, text, dir, name)
	}
}

// documentedServer is the server behind the documents' addresses.
type documentedServer struct {
	address    string
	oneAtATime sync.Mutex // two runs would have the same tables
}

// serverFor starts a server that lives as long as the test.
func serverFor(t *testing.T, text string) *documentedServer {
	t.Helper()
	spec, err := cluster.ParseSpec(text)
	expect.NoError(t, err)
	c, err := cluster.Start(t.Context(), spec, cluster.Options{})
	expect.NoError(t, err)
	expect.AtEnd(t, c.Close)
	return &documentedServer{address: c.Address()}
}

// exists wants what a command that is not run names: the target of make, the
// script, the file.
func exists(t *testing.T, d documentedLine) {
	t.Helper()
	words := strings.Fields(strings.TrimPrefix(d.line, "sudo "))
	if words[0] == "make" {
		for _, target := range words[1:] {
			if !strings.Contains(target, "=") && !strings.Contains("\n"+readFile(t, "..", "..", "Makefile"), "\n"+target+":") {
				t.Errorf("%s: the Makefile has no target %s", d.where, target)
			}
		}
	}
	for _, w := range words {
		if strings.HasPrefix(w, "scripts/") || strings.HasPrefix(w, "docs/") {
			if _, err := os.Stat(filepath.Join("..", "..", w)); err != nil {
				t.Errorf("%s: %v", d.where, err)
			}
		}
	}
}

// TestDocumentedService goes through the service of docs/guides/more-workloads.md: it is
// started, asked for its description, and loaded.
func TestDocumentedService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var served, loaded string
	for _, d := range documentedCommands(t) {
		if strings.HasPrefix(d.line, "assay serve --db sqlite:") {
			served = d.line
		}
		if strings.HasPrefix(d.line, "assay run entity --db http://127.0.0.1:8080") && strings.Contains(d.where, "more-workloads.md") {
			loaded = d.line
		}
	}
	if served == "" || loaded == "" {
		t.Fatalf("docs/guides/more-workloads.md has %q and %q", served, loaded)
	}
	service := start(t, command{dir: dir, args: append(strings.Fields(served)[1:], "--listen", "127.0.0.1:0")})
	service.until("on http://")
	_, rest, _ := strings.Cut(service.err.String(), "on http://")
	address := "http://" + strings.Fields(rest)[0]
	answer, err := http.Get(address + "/openapi.json")
	expect.NoError(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("the description: %s", answer.Status)
	}
	loaded = strings.NewReplacer("http://127.0.0.1:8080", address, "--warmup 3s --duration 15s", "--ops 60 --quiet").Replace(loaded)
	if e := assay(t, dir, strings.Fields(loaded)[1:]...).want(t, exitValid, exitNoVerdict); !strings.Contains(e.stdout, "entity: valid") {
		t.Errorf("through the service: %v", e)
	}
	service.signal(syscall.SIGINT)
	service.wait().want(t, exitValid)
}

// documentedLine is one command and where it stands.
type documentedLine struct{ where, line string }

// documentedCommands returns the commands in the fenced blocks of the README and
// of docs, and those of the examples in help.
func documentedCommands(t *testing.T) []documentedLine {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.md", "guides/*.md", "internals/*.md"} {
		found, err := filepath.Glob(filepath.Join("..", "..", "docs", pattern))
		expect.NoError(t, err)
		files = append(files, found...)
	}
	if len(files) < 5 {
		t.Fatalf("only %d documents were found", len(files))
	}
	var all []documentedLine
	for _, file := range append([]string{filepath.Join("..", "..", "README.md")}, files...) {
		all = append(all, commandsOf(t, file)...)
	}
	var inHelp func(cmd *cobra.Command)
	inHelp = func(cmd *cobra.Command) {
		all = append(all, commandsIn("help of "+cmd.CommandPath(), cmd.Example)...)
		for _, c := range cmd.Commands() {
			inHelp(c)
		}
	}
	inHelp(newRoot("test", nil))
	if len(all) < 40 {
		t.Fatalf("only %d commands were found", len(all))
	}
	return all
}

// commandsOf returns the commands in the fenced blocks of a document.
func commandsOf(t *testing.T, file string) (all []documentedLine) {
	t.Helper()
	for i, block := range strings.Split("\n"+readFile(t, file), "\n```") {
		if i%2 == 1 {
			all = append(all, commandsIn(filepath.Base(file), block)...)
		}
	}
	return all
}

// commandsIn returns the lines of a block that run a program, without their
// comments; a line that ends in a backslash goes on in the next.
func commandsIn(where, block string) (found []documentedLine) {
	programs := []string{"assay", "go", "make", "sudo", "curl", "pip", "locust", "git", "docker", "python3", "export"}
	variable := regexp.MustCompile(`^([A-Z_]+=('[^']*'|\S*) )+`)
	for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
		line, _, _ = strings.Cut(line, "  #")
		line = unwrapped(line)
		first, _, _ := strings.Cut(variable.ReplaceAllString(line, ""), " ")
		if slices.Contains(programs, first) || strings.HasPrefix(first, "scripts/") || strings.HasPrefix(first, "./") {
			found = append(found, documentedLine{where: fmt.Sprintf("%s: %s", where, line), line: line})
		}
	}
	return found
}
