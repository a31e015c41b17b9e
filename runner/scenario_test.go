package runner

import (
	"assay/cluster"

	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/load"
	"assay/measure"
	"assay/runner/catalog"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/candles"
)

func kept(t *testing.T, s Scenario) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), FileScenario)
	expect.NoError(t, writeScenario(path, s))
	return path
}

func TestScenarioRoundTrip(t *testing.T) {
	everything := Defaults(bank.Definition())
	everything.Database, everything.Isolation, everything.ConnectTimeout = "sqlite:a file.db?journal=delete", "serializable", 1500*time.Millisecond
	everything.Load = load.Plan{
		Clients: 17, Rate: 0.25, Arrivals: load.Uniform, Warmup: 3 * time.Second, Duration: 90 * time.Minute, Ops: 12,
		Ramp: 2.5, Timeout: 250 * time.Microsecond, Retry: load.RetryIdempotent, MaxAttempts: 3, Seed: 1<<64 - 1,
	}
	everything.Thresholds, everything.Drop = []string{"p99 < 20ms", "throughput >= 500", "failed < 1%"}, true
	everything.Config = &bank.Config{Keys: "zipf:0.99", Accounts: 77, Loaders: 2, Audits: 10}
	onServers := Defaults(bank.Definition())
	onServers.Cluster = "mongodb:3"
	for name, want := range map[string]Scenario{"everything": everything, "the defaults": Defaults(bank.Definition()), "servers of its own": onServers} {
		got, err := ReadScenario(kept(t, want))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s came back as\n%+v, want\n%+v", name, got, want)
		}
	}
}

// TestScriptsStandLineByLine, unless that would read as another text.
func TestScriptsStandLineByLine(t *testing.T) {
	for quoted, want := range map[string]string{
		"script:\n  text: \"# a: b\\nif x:\\n\\n    \\\"y\\\"\\n\"\n  pause: 2.0\n": "script:\n  text: |\n    # a: b\n    if x:\n    \n        \"y\"\n  pause: 2.0\n",
		"script:\n  text: \"  begins with spaces\\nb\\n\"\n":                        "script:\n  text: \"  begins with spaces\\nb\\n\"\n",
		"script:\n  text: \"no end\\nb\"\n":                                         "script:\n  text: \"no end\\nb\"\n",
		"bank:\n  accounts: 5\n":                                                    "bank:\n  accounts: 5\n",
	} {
		if got := string(byLine([]byte(quoted))); got != want {
			t.Errorf("of %q\n%s", quoted, got)
		}
	}
}

// TestARunCanBeDoneAgain: the same seed asks the same kind of database for the same transfers.
func TestARunCanBeDoneAgain(t *testing.T) {
	s := small("", 99, 400)
	s.Load.Clients = 1
	first := carryOut(t, s)
	again, err := ReadScenario(filepath.Join(first.Folder, FileScenario))
	expect.NoError(t, err)
	if !reflect.DeepEqual(again, s) {
		t.Errorf("asked for\n%+v, kept\n%+v", s, again)
	}
	second := carryOut(t, again)
	if first.Result.Outcomes != second.Result.Outcomes {
		t.Errorf("outcomes %+v, then %+v", first.Result.Outcomes, second.Result.Outcomes)
	}
	if a, b := read(t, filepath.Join(first.Folder, "state.bin")), read(t, filepath.Join(second.Folder, "state.bin")); string(a) != string(b) {
		t.Error("the two runs left different books")
	}
}

func TestNoPasswordIsKept(t *testing.T) {
	for _, address := range []string{
		"postgres://u:hunter2@localhost/db", "postgres://localhost/db?password=hunter2", "mongodb://u:hun/ter2@localhost/",
		"mongodb://u:hunter2@a:1,b:2/?replicaSet=rs0",
	} {
		s := Defaults(bank.Definition())
		s.Database = address
		path := kept(t, s)
		if text := string(read(t, path)); strings.Contains(text, "ter2") {
			t.Errorf("%s is kept as %s", address, text)
		}
		got, err := ReadScenario(path)
		if err != nil {
			t.Errorf("%s: %v", address, err)
		} else if !store.Redacted(got.Database) {
			t.Errorf("%s: nobody can tell that the password is missing from %s", address, got.Database)
		}
	}
}

func TestScenariosThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"workload: [bank":                           "s.yaml:1:",
		"- bank":                                    "s.yaml:1:1: ",
		"workload: bank\nclients: 4\n":              `s.yaml:2:1: there is no key "clients"`,
		"workload: bank\nload:\n  cleints: 4\n":     `s.yaml:3:3: there is no key "cleints"; did you mean clients?`,
		"workload: bank\nbank:\n  acounts: 4\n":     `s.yaml:3:3: there is no key "acounts"; did you mean accounts?`,
		"workload: bank\nload:\n  clients: many\n":  "s.yaml:3:12: a whole number is wanted here",
		"workload: bank\nload:\n  duration: soon\n": "scenario s.yaml: time: invalid duration",
		"workload: bank\nload:\n  clients: -1\n":    "scenario s.yaml: ",
		"workload: chess\n":                         "scenario s.yaml: ",
		"workload: bank\ndatabase: oracle://host\n": "scenario s.yaml: ",
		"workload: bank\nthresholds: [fast]\n":      "scenario s.yaml: ",
		"\x00\xff\x00\xff":                          "s.yaml:1:1: ",
	} {
		t.Chdir(t.TempDir())
		put(t, "s.yaml", text)
		_, err := ReadScenario("s.yaml")
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	var bad *ScenarioError
	if _, err := ReadScenario(filepath.Join(t.TempDir(), "missing.yaml")); !errors.As(err, &bad) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
}

func TestWhatAScenarioDoesNotNameIsTheDefault(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.yaml")
	put(t, path, "workload: bank\nload:\n  clients: 9\n")
	got, err := ReadScenario(path)
	want := Defaults(bank.Definition())
	want.Load.Clients = 9
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %+v, want %+v", err, got, want)
	}
}

// TestFaultsSayWhenTheyHappen: the kept faults have their times, and a repeated run has the same
// faults, even if it is longer.
func TestFaultsSayWhenTheyHappen(t *testing.T) {
	s := Defaults(bank.Definition())
	s.Cluster, s.Load.Duration = "mongodb:3", time.Minute
	asked := []string{"isolate primary at 10s", "kill n2", "pause n3 every 20s", "stop n1 at 50s for ever", "restart any while loading"}
	want := []string{"isolate primary at 10s for 15s", "kill n2 at 15s for 15s", "pause n3 every 20s for 10s", "stop n1 at 50s for ever", "restart any while loading at 5s"}
	s.Faults = slices.Clone(asked)
	planned := s
	planned.Plan()
	if !slices.Equal(planned.Faults, want) || !slices.Equal(s.Faults, asked) {
		t.Errorf("%q, of %q", planned.Faults, s.Faults)
	}
	if said := workingText(planned); !strings.HasSuffix(said, "; faults: "+strings.Join(want[:4], ", ")) {
		t.Errorf("before the work: %q", said)
	}
	if said := planned.faultsText(true); said != "; faults: "+want[4] {
		t.Errorf("before loading: %q", said)
	}
	path := filepath.Join(t.TempDir(), FileScenario)
	expect.NoError(t, writeScenario(path, planned))
	again, err := ReadScenario(path)
	expect.NoError(t, err)
	again.Load.Duration = 10 * time.Minute
	if again.Plan(); !slices.Equal(again.Faults, want) {
		t.Errorf("again: %q", again.Faults)
	}
}

// TestUnserved: what a database does not serve is known before servers start.
func TestUnserved(t *testing.T) {
	for _, c := range []struct{ workload, database, cluster, want string }{
		{"bank", "", "", ""},
		{"bank", "", "postgres:3", ""},
		{"bank", "", "mariadb:1", ""},
		{"bank", "", "cassandra:3", "Cassandra has no transaction over several partitions"},
		{"bank", "cassandra://host", "", "a transfer could be half done"},
		{"bank", "", "sqlite:1", "the service behind the address has two calls"},
		{"entity", "", "sqlite:1", ""},
		{"churn", "", "redis:1", "Redis keeps all data in memory"},
		{"script", "etcd://host", "", "a script's statements are SQL"},
		{"bank", "", "oracle:1", ""},
		{"bank", "oracle://host", "", ""},
	} {
		got := Scenario{Workload: c.workload, Database: c.database, Cluster: c.cluster}.Unserved()
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestValidate(t *testing.T) {
	var (
		option    *store.OptionError
		spec      *cluster.SpecError
		plan      *load.PlanError
		scheme    *catalog.SchemeError
		threshold *measure.ThresholdError
	)
	tests := map[string]struct {
		spoil func(*Scenario)
		want  any
	}{
		"no workload":            {func(s *Scenario) { s.Workload = "" }, &option},
		"no time to connect":     {func(s *Scenario) { s.ConnectTimeout = 0 }, &option},
		"two databases":          {func(s *Scenario) { s.Database, s.Cluster = "mem://", "mongodb:3" }, &option},
		"an unknown cluster":     {func(s *Scenario) { s.Cluster = "mongodb:4" }, &spec},
		"an unknown scheme":      {func(s *Scenario) { s.Database = "oracle://x" }, &scheme},
		"no scheme":              {func(s *Scenario) { s.Database = "localhost" }, &scheme},
		"rounds without a limit": {func(s *Scenario) { become(s, candles.Definition()); s.Load.Timeout = 0 }, &plan},
		"no clients":             {func(s *Scenario) { s.Load.Clients = 0 }, &plan},
		"too few accounts":       {func(s *Scenario) { s.Config.(*bank.Config).Accounts = 1 }, &option},
		"faults in a threshold":  {func(s *Scenario) { s.Thresholds = []string{"p99 < 5ms during faults"} }, &option},
		"a threshold":            {func(s *Scenario) { s.Thresholds = []string{"p99 < 5ms", "p98 < 5ms"} }, &threshold},
	}
	for name, test := range tests {
		s := Defaults(bank.Definition())
		test.spoil(&s)
		if err := s.Validate(); err == nil || !errors.As(err, test.want) {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := Run(t.Context(), s, Options{Out: "never made", Progress: &diary{}}); !errors.As(err, test.want) {
			t.Errorf("%s: the run said %v", name, err)
		}
	}
	if err := Defaults(bank.Definition()).Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	if _, err := os.Stat("never made"); !errors.Is(err, os.ErrNotExist) {
		t.Error("a folder was made for a run that cannot be")
	}
}
