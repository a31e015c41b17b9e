// Package assay_test holds the rules that no single package can hold: which
// package may import which, and how long things may get.
package assay_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayImport is the direction of the arrows: what each package may import of
// ours. A name with /... stands for all packages below it, and workload/* for
// the workloads and what they share. A package that is not in this table fails
// the test: a new one is entered here on purpose.
var mayImport = map[string][]string{
	"history":                   {},
	"check":                     {"internal/quantity"},
	"check/ledger":              {"check", "check/cycle/acyclic", "history", "internal/quantity"},
	"check/reduce":              {},
	"check/cycle":               {"check", "check/cycle/acyclic", "check/reduce", "history", "history/exchange"},
	"check/cycle/acyclic":       {},
	"check/recorded":            {"check", "check/cycle", "check/cycle/acyclic", "history", "history/exchange"},
	"check/register":            {"check", "history"},
	"history/exchange":          {"history"},
	"workload/isolation":        {"workload/interleaving", "store", "store/bug", "store/promise", "workload", "workload/definition", "load", "history", "history/exchange", "check", "check/cycle", "check/cycle/acyclic", "report", "measure"},
	"workload/interleaving":     {"store", "history", "check/cycle"},
	"workload/keyvalue":         {"store", "store/bug", "store/promise", "workload/definition", "load", "history", "check", "measure"},
	"workload/ycsb":             {"store", "store/bug", "store/promise", "workload", "workload/definition", "workload/keyvalue", "load", "history", "check", "check/register", "report", "internal/spelling"},
	"workload/availability":     {"store", "store/bug", "workload", "workload/definition", "workload/keyvalue", "load", "history", "check", "report", "measure"},
	"workload/entity":           {"store", "store/bug", "workload", "workload/definition", "workload/keyvalue", "load", "history", "check", "report", "measure"},
	"workload/churn":            {"store", "store/bug", "store/promise", "workload", "workload/definition", "load", "history", "check", "report"},
	"workload/journal":          {"store", "store/bug", "workload", "workload/definition", "load", "history", "check"},
	"workload/smallbank":        {"store", "store/bug", "store/promise", "workload", "workload/definition", "workload/journal", "load", "history", "check", "check/cycle", "report", "measure"},
	"workload/tpcb":             {"store", "store/bug", "store/promise", "workload", "workload/definition", "workload/journal", "load", "history", "check", "report"},
	"workload/bulkupdate":       {"store", "store/bug", "store/promise", "workload", "workload/definition", "load", "history", "check", "report"},
	"check/robustness":          {},
	"workload/script/access":    {},
	"workload/script":           {"workload/script/access", "workload/script/pgbench", "check/robustness", "store/bug", "store", "store/promise", "workload", "workload/definition", "load", "history", "check", "report", "internal/wait"},
	"workload/script/pgbench":   {"workload"},
	"workload/candles":          {"store", "store/bug", "store/promise", "workload", "workload/definition", "load", "history", "check", "report", "measure"},
	"workload/tpcc":             {"store/bug", "store", "store/promise", "workload", "workload/definition", "load", "history", "check", "check/cycle", "report", "measure"},
	"measure":                   {"history", "check", "internal/quantity"},
	"load":                      {"history", "internal/eventloop"},
	"internal/eventloop":        {},
	"runner/agents":             {"history", "load", "measure", "store", "internal/wait"},
	"internal/procfs":           {},
	"internal/subprocess":       {},
	"measure/pressure":          {"internal/procfs", "internal/wait"},
	"workload/definition":       {"store/bug", "store", "store/promise", "load", "history", "history/exchange", "check", "check/cycle", "measure", "report", "internal/wait"},
	"workload":                  {},
	"store":                     {"history", "load", "internal/spelling"},
	"store/bug":                 {},
	"workload/bank":             {"store", "store/bug", "store/promise", "workload", "workload/definition", "workload/journal", "load", "history", "history/exchange", "check", "check/ledger", "report"},
	"driver/uri":                {"store"},
	"driver/encryption":         {"driver/uri", "store"},
	"driver/replicas":           {"store"},
	"driver/rows":               {"store"},
	"driver/mem":                {"store", "driver/ownership", "driver/uri", "driver/rows", "driver/ordered", "history", "internal/wait"},
	"driver/bugs":               {"store", "store/bug", "workload", "history", "internal/eventloop"},
	"driver/sqldb":              {"store", "driver/ownership", "history", "internal/wait"},
	"driver/sqlite":             {"store", "driver/ownership", "driver/uri", "driver/sqldb", "history"},
	"driver/postgres":           {"store", "driver/sqldb", "driver/uri", "driver/encryption", "driver/replicas", "internal/eventloop"},
	"driver/mongodb":            {"store", "driver/ownership", "driver/encryption", "driver/replicas", "history", "internal/eventloop", "internal/wait"},
	"driver/mysql":              {"store", "workload", "driver/sqldb", "driver/uri", "driver/encryption", "driver/replicas", "internal/wait", "internal/eventloop"},
	"driver/cassandra":          {"store", "driver/ownership", "driver/uri", "driver/encryption", "history", "internal/wait"},
	"driver/redis":              {"store", "driver/ownership", "driver/uri", "driver/encryption", "driver/replicas", "driver/rows", "history", "internal/resp", "internal/wait"},
	"driver/foundationdb":       {"store", "driver/ownership", "driver/uri", "driver/rows", "driver/ordered", "history", "internal/wait"},
	"driver/ownership":          {"store", "internal/wait"},
	"driver/ordered":            {"store", "driver/rows", "driver/ownership", "history"},
	"driver/etcd":               {"store", "driver/ownership", "driver/uri", "driver/rows", "driver/ordered", "driver/encryption", "driver/replicas", "history", "internal/wait"},
	"driver/rest":               {"store", "driver/uri", "driver/encryption", "history"},
	"runner/serve":              {"runner/lease", "store", "workload/entity", "workload/keyvalue", "history", "internal/wait"},
	"driver/drivertest":         {"store", "store/durability", "check", "workload/*", "workload/definition", "load", "history", "internal/eventloop", "internal/expect", "internal/wait"},
	"cluster/machine":           {"internal/procfs"},
	"internal/quantity":         {},
	"internal/spelling":         {},
	"internal/yamlfile":         {"internal/spelling"},
	"cluster/server":            {"cluster/machine", "internal/procfs", "internal/wait"},
	"cluster/disk":              {},
	"cluster/versions":          {"cluster/server", "internal/quantity"},
	"cluster/postgres":          {"cluster/machine", "cluster/server"},
	"cluster/pgbouncer":         {"cluster/server"},
	"cluster/haproxy":           {"cluster/server"},
	"cluster/streaming":         {"cluster/machine", "cluster/postgres", "cluster/server"},
	"cluster/patroni":           {"cluster/machine", "cluster/postgres", "cluster/server", "cluster/streaming"},
	"cluster/pgautofailover":    {"cluster/machine", "cluster/postgres", "cluster/server", "cluster/streaming"},
	"cluster/repmgr":            {"cluster/machine", "cluster/postgres", "cluster/server", "cluster/streaming"},
	"cluster/mongodb":           {"cluster/machine", "cluster/server", "internal/wait"},
	"cluster/binlog":            {"cluster/server"},
	"cluster/mariadb":           {"cluster/binlog", "cluster/machine", "cluster/server"},
	"cluster/mysql":             {"cluster/binlog", "cluster/machine", "cluster/server", "internal/wait"},
	"cluster/cassandra":         {"cluster/machine", "cluster/server", "internal/wait"},
	"cluster/redis":             {"cluster/machine", "cluster/server", "internal/resp"},
	"cluster/etcd":              {"cluster/machine", "cluster/server"},
	"cluster/sqlite":            {"cluster/machine", "cluster/server"},
	"cluster/kubernetes":        {"cluster/server"},
	"cluster/image":             {"cluster/machine", "cluster/server"},
	"cluster":                   {"cluster/...", "internal/quantity", "internal/spelling", "internal/wait"},
	"fault/chaosmesh":           {"fault", "internal/quantity", "internal/spelling"},
	"fault":                     {"internal/subprocess", "internal/yamlfile", "cluster", "cluster/disk", "cluster/kubernetes", "cluster/machine", "cluster/server", "internal/quantity", "internal/spelling"},
	"measure/servers":           {"internal/procfs", "internal/quantity", "measure", "store"},
	"report/junit":              {},
	"report":                    {"report/junit", "history", "measure", "check", "measure/pressure", "internal/quantity", "measure/servers"},
	"runner/catalog":            {"store", "store/bug", "internal/spelling", "workload/...", "driver/..."},
	"store/durability":          {"store"},
	"store/promise":             {"store", "store/durability"},
	"runner/known":              {"internal/quantity", "internal/yamlfile", "check", "report"},
	"runner/hunt":               {"internal/yamlfile", "check", "cluster", "cluster/server", "fault", "history", "internal/quantity", "load", "report", "runner", "runner/catalog", "runner/nodes", "store", "store/promise", "workload/definition"},
	"runner/histories":          {"store", "history", "check", "check/cycle", "check/register", "check/recorded", "check/reduce", "history/exchange", "report"},
	"runner/powercuts":          {"measure", "runner", "runner/catalog", "store", "cluster", "fault", "check", "report", "workload/..."},
	"runner/figures":            {"check", "cluster", "history", "internal/quantity", "load", "measure", "measure/servers", "report", "report/scalability", "runner/record", "store", "workload/definition"},
	"runner/record":             {"fault", "history", "load", "measure", "report"},
	"runner/judge":              {"check", "cluster", "fault", "history", "load", "measure", "report", "store", "store/durability", "store/promise", "workload/definition"},
	"runner/nodes":              {"cluster", "cluster/kubernetes", "cluster/server", "fault", "internal/procfs", "internal/quantity", "measure/servers", "report", "runner/record", "store"},
	"runner/open":               {"check", "internal/wait", "load", "runner/catalog", "runner/lease", "store", "workload/definition"},
	"runner/work":               {"history", "load", "runner/lease"},
	"runner/readback":           {"check", "history", "report", "runner/lease", "store", "workload/definition"},
	"runner/lease":              {"store", "load", "history", "internal/procfs", "internal/wait"},
	"runner":                    {"runner/figures", "runner/judge", "runner/lease", "runner/nodes", "runner/open", "runner/readback", "runner/record", "runner/work", "store", "runner/agents", "runner/catalog", "cluster", "cluster/kubernetes", "cluster/server", "workload", "workload/...", "fault", "load", "history", "measure", "check", "check/cycle", "history/exchange", "report", "runner/histories", "internal/quantity", "internal/yamlfile", "measure/pressure", "measure/servers", "runner/serve", "internal/table", "internal/wait"},
	"cmd/assay":                 {"internal/subprocess", "internal/yamlfile", "application", "application/...", "runner/histories", "runner/known", "runner/nodes", "runner/hunt", "runner/powercuts", "store", "store/bug", "runner/agents", "internal/table", "internal/spelling", "runner/catalog", "runner", "runner/monitor", "runner/series", "runner/advise", "runner/study", "report/article", "report/compare", "report/junit", "report/scalability", "internal/quantity", "report", "runner/serve", "report/view", "workload/...", "load", "history", "measure", "check", "check/cycle", "history/exchange", "cluster", "cluster/disk", "cluster/kubernetes", "cluster/server", "fault", "fault/chaosmesh"},
	"application/wire":          {"internal/eventloop"},
	"application/wire/wiretest": {"application/wire", "internal/expect"},
	"application/mongodb":       {"application/wire", "driver/mongodb", "store"},
	"application/mysql":         {"application/wire", "driver/mysql"},
	"application/postgres":      {"application/wire", "driver/postgres"},
	"application":               {"application/wire", "check", "cluster", "fault", "history", "history/exchange", "internal/quantity", "internal/subprocess", "report", "store", "store/durability", "store/promise"},
	"report/scalability":        {},
	"runner/monitor":            {"history"},
	"report/trend":              {},
	"internal/table":            {},
	"internal/resp":             {},
	"internal/wait":             {},
	"report/article":            {"check", "report"},
	"report/compare":            {"report/junit", "check", "report/trend", "measure", "internal/quantity", "internal/spelling", "report", "report/scalability"},
	"runner/series":             {"check", "history", "measure", "report", "runner"},
	"runner/advise":             {"check", "internal/quantity", "measure", "report", "runner", "runner/series", "store", "workload/script"},
	"report/pagetest":           {},
	"report/view":               {"check", "report/compare", "internal/quantity", "report"},
	"runner/study":              {"internal/spelling", "internal/yamlfile", "report", "report/compare", "store"},

	"cluster/kubernetes/kubernetestest": {"cluster/server"},
	"cluster/servertest":                {"cluster/server", "internal/expect"},
	"cluster/streaming/streamingtest":   {"cluster/server", "cluster/streaming", "internal/expect"},

	"internal/expect": {},
}

// What only tests may import beside that and internal/expect: a driver's own tests start
// servers and run the conformance suite.
var testsMayImport = map[string][]string{
	"application/postgres":    {"application/wire/wiretest", "cluster/postgres", "driver/drivertest"},
	"application/mongodb":     {"application/wire/wiretest", "cluster/mongodb", "cluster/server", "driver/drivertest"},
	"application/mysql":       {"application/wire/wiretest", "cluster/mariadb", "cluster/mysql", "driver/drivertest"},
	"runner/agents":           {"driver/drivertest"},
	"runner/advise":           {"workload/definition"},
	"runner/judge":            {"workload/bank"},
	"runner/catalog":          {"load"},
	"report/compare":          {"history", "measure/servers"},
	"runner/series":           {"runner/catalog", "check"},
	"check/register":          {"history/exchange"},
	"cluster/kubernetes":      {"cluster/kubernetes/kubernetestest"},
	"fault":                   {"cluster/kubernetes/kubernetestest"},
	"workload/bank":           {"driver/mem"},
	"workload/bulkupdate":     {"driver/mem"},
	"workload/candles":        {"driver/mem"},
	"workload/churn":          {"driver/mem"},
	"workload/isolation":      {"driver/mem"},
	"workload/entity":         {"driver/mem"},
	"workload/ycsb":           {"driver/mem"},
	"workload/smallbank":      {"driver/mem"},
	"workload/tpcb":           {"driver/mem"},
	"workload/tpcc":           {"driver/mem", "driver/sqldb", "driver/sqlite"},
	"workload/script/pgbench": {"cluster/postgres"},
	"driver/mem":              {"driver/drivertest", "check", "workload/*", "workload"},
	"driver/bugs":             {"workload/definition", "workload/*", "driver/drivertest", "driver/mem", "driver/sqlite", "check"},
	"driver/sqldb":            {"workload/*"},
	"driver/sqlite":           {"driver/drivertest", "workload/*", "workload/definition", "workload"},
	"driver/encryption":       {"driver/drivertest"},
	"cluster/pgbouncer":       {"cluster/postgres"},
	"cluster/haproxy":         {"cluster/streaming"},
	"cluster/cassandra":       {"cluster/servertest"},
	"cluster/etcd":            {"cluster/servertest"},
	"cluster/mariadb":         {"cluster/servertest"},
	"cluster/mongodb":         {"cluster/servertest"},
	"cluster/mysql":           {"cluster/servertest"},
	"cluster/redis":           {"cluster/servertest"},
	"cluster/patroni":         {"cluster/etcd", "cluster/streaming/streamingtest"},
	"cluster/pgautofailover":  {"cluster/streaming/streamingtest"},
	"cluster/repmgr":          {"cluster/streaming/streamingtest"},
	"driver/postgres":         {"load", "driver/drivertest", "store/durability", "cluster/postgres", "cluster/server", "cluster/streaming", "workload/*", "workload/definition", "history", "workload", "internal/wait"},
	"driver/mongodb":          {"workload/*", "driver/bugs", "driver/drivertest", "cluster/mongodb", "cluster/postgres", "cluster/server", "workload/definition", "workload"},
	"driver/mysql":            {"workload/*", "workload/definition", "driver/drivertest", "store/durability", "cluster/binlog", "cluster/mariadb", "cluster/mysql", "cluster/server", "history"},
	"driver/rest":             {"driver/bugs", "driver/drivertest", "driver/sqlite", "runner/serve", "check", "workload/*"},
	"runner/serve":            {"driver/mem"},
	"driver/cassandra":        {"driver/drivertest", "cluster/cassandra", "cluster/server", "workload/*", "workload/definition"},
	"driver/foundationdb":     {"driver/drivertest", "workload/*", "workload/definition"},
	"driver/redis":            {"driver/drivertest", "store/durability", "cluster/redis", "cluster/server", "workload/*", "workload/definition"},
	"driver/ordered":          {"workload/*"},
	"driver/etcd":             {"driver/drivertest", "cluster/etcd", "cluster/server", "workload/*", "workload/definition"},
	"runner":                  {"runner/monitor", "report/pagetest", "driver/bugs", "driver/sqlite", "driver/drivertest", "cluster/disk"},
	"cmd/assay":               {"runner/histories", "runner/powercuts", "cluster/...", "driver/drivertest", "report/pagetest", "workload"},
}

const (
	maxFileLines     = 400
	maxFunctionLines = 70
	module           = "assay/"
)

type source struct {
	path string // slash separated, from the module's root
	file *ast.File
	set  *token.FileSet
	test bool
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && name != "." || entry.Name() == "testdata" || entry.Name() == "runs" || name == "bench" || name == "examples") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) != ".go" {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{
			path: filepath.ToSlash(name), file: file, set: set, test: strings.HasSuffix(name, "_test.go"),
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("only %d source files found", len(all))
	}
	return all
}

func TestArrowsGoOneWay(t *testing.T) {
	for _, s := range sources(t) {
		from := path.Dir(s.path)
		if from == "." {
			continue
		}
		allowed, known := mayImport[from]
		if !known {
			t.Errorf("%s: package %s is not in the table of arrows", s.path, from)
			continue
		}
		if s.test {
			allowed = append(append(slices.Clone(allowed), testsMayImport[from]...), from, "internal/expect")
		}
		for _, spec := range s.file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			to, ours := strings.CutPrefix(name, module)
			if ours && !permitted(allowed, to) {
				t.Errorf("%s: %s must not import %s", s.path, from, to)
			}
		}
	}
}

func permitted(allowed []string, to string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		if a == "workload/*" {
			return strings.HasPrefix(to, "workload/") && to != "workload/definition"
		}
		below, all := strings.CutSuffix(a, "/...")
		return a == to || all && strings.HasPrefix(to, below+"/")
	})
}

// TestDriversKnowNoWorkload: none imports one, but drivertest for its short runs.
func TestDriversKnowNoWorkload(t *testing.T) {
	for from, allowed := range mayImport {
		if !strings.HasPrefix(from, "driver/") || from == "driver/drivertest" {
			continue
		}
		if i := slices.IndexFunc(allowed, func(to string) bool { return strings.HasPrefix(to, "workload/") }); i >= 0 {
			t.Errorf("%s may import %s", from, allowed[i])
		}
	}
}

// folders are those of the root with code, from the one that knows no other to the one
// that knows all.
var folders = []string{"internal", "history", "load", "store", "check", "measure", "report", "workload", "driver", "cluster", "fault", "application", "runner", "cmd"}

// TestNothingSwitchesOverWorkloads: what differs between workloads is a field or an interface of
// their definition. driver/drivertest lists them, for its short runs.
func TestNothingSwitchesOverWorkloads(t *testing.T) {
	for _, s := range sources(t) {
		if dir := path.Dir(s.path); s.test || strings.HasPrefix(dir, "workload/") || dir == "driver/drivertest" {
			continue
		}
		names := func(x ast.Expr) bool { // "bank" or bank.Name
			if literal, is := x.(*ast.BasicLit); is {
				return literal.Value != `""`
			}
			selector, is := x.(*ast.SelectorExpr)
			if !is || selector.Sel.Name != "Name" {
				return false
			}
			id, is := selector.X.(*ast.Ident)
			return is && slices.ContainsFunc(s.file.Imports, func(i *ast.ImportSpec) bool {
				return i.Path.Value == strconv.Quote(module+"workload/"+id.Name)
			})
		}
		field := func(x ast.Expr) bool {
			selector, is := x.(*ast.SelectorExpr)
			return is && selector.Sel.Name == "Workload"
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL && (field(n.X) && names(n.Y) || field(n.Y) && names(n.X)) {
					t.Errorf("%s: compares a workload's name", s.path)
				}
			case *ast.SwitchStmt:
				if n.Tag != nil && field(n.Tag) {
					t.Errorf("%s: a switch over workloads' names", s.path)
				}
			}
			return true
		})
	}
}

// TestFoldersAreInOrder: whatever a package reaches over its imports, and theirs, lies in
// its own folder or in one before it.
func TestFoldersAreInOrder(t *testing.T) {
	imports := map[string][]string{}
	for _, s := range sources(t) {
		for _, spec := range s.file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if to, ours := strings.CutPrefix(name, module); ours && !s.test {
				imports[path.Dir(s.path)] = append(imports[path.Dir(s.path)], to)
			}
		}
	}
	for from := range imports {
		reached, rank := reach(imports, from), rankOf(from)
		if rank < 0 {
			t.Errorf("%s lies in no folder of the order", from)
		}
		for _, to := range reached {
			if rankOf(to) > rank {
				t.Errorf("%s reaches %s, whose folder comes after its own", from, to)
			}
		}
		if len(reached) == 0 && len(imports[from]) > 0 {
			t.Errorf("%s imports %v and reaches nothing", from, imports[from])
		}
	}
}

// rankOf is the place of a package's folder in the order; -1 if it has none.
func rankOf(name string) int {
	folder, _, _ := strings.Cut(name, "/")
	return slices.Index(folders, folder)
}

// reach is what a package imports, directly or not.
func reach(imports map[string][]string, from string) []string {
	seen := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		for _, to := range imports[name] {
			if !seen[to] {
				seen[to] = true
				visit(to)
			}
		}
	}
	visit(from)
	return slices.Sorted(maps.Keys(seen))
}

// TestEachPackageIsDescribed: docs/internals/packages.md says what each package is for, and
// knows no other.
func TestEachPackageIsDescribed(t *testing.T) {
	page, err := os.ReadFile("docs/internals/packages.md")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for line := range strings.Lines(string(page)) {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		for name := range strings.SplitSeq(names, ", ") {
			if name, is := strings.CutPrefix(name, "`"); is && strings.HasPrefix(line, "| ") {
				described[strings.TrimSuffix(name, "`")] = true
			}
		}
	}
	for name := range mayImport {
		if !described[name] {
			t.Errorf("docs/internals/packages.md does not say what %s is for", name)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("docs/internals/packages.md describes %s, which is no package", name)
	}
}

// TestTheArrowTestCanFail keeps the rule itself honest.
func TestTheArrowTestCanFail(t *testing.T) {
	for _, wrong := range [][2]string{
		{"workload/bank", "driver/sqlite"}, {"load", "workload/bank"}, {"check", "load"}, {"history", "check"},
		{"driver/postgres", "load"}, {"report", "workload"},
	} {
		if permitted(mayImport[wrong[0]], wrong[1]) {
			t.Errorf("%s may import %s", wrong[0], wrong[1])
		}
	}
	if !permitted(mayImport["runner/catalog"], "driver/sqlite") {
		t.Error("catalog must be able to import the drivers")
	}
}

func TestSizes(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		lines := s.set.File(s.file.FileStart).LineCount()
		if lines > maxFileLines {
			t.Errorf("%s has %d lines; more than %d means two rooms", s.path, lines, maxFileLines)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			f, ok := n.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				return true
			}
			length := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1
			if length > maxFunctionLines {
				t.Errorf("%s: function %s has %d lines, more than %d", s.path, f.Name.Name, length, maxFunctionLines)
			}
			return true
		})
	}
}

func TestHouseRules(t *testing.T) {
	opened := map[string]bool{}
	for _, s := range sources(t) {
		dir := path.Dir(s.path)
		if s.file.Doc != nil {
			opened[dir] = true
		} else if _, seen := opened[dir]; !seen {
			opened[dir] = false
		}
		for _, word := range []string{"util", "utils", "common", "helper", "helpers", "misc"} {
			if path.Base(dir) == word || strings.TrimSuffix(path.Base(s.path), ".go") == word {
				t.Errorf("%s: a name that says nothing", s.path)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s: init functions are not used here", s.path)
				}
			case *ast.SelectorExpr:
				if s.test && strings.HasPrefix(n.Sel.Name, "Skip") && isName(n.X, "t", "b", "tb") {
					t.Errorf("%s: a test that skips is a test that is not run", s.path)
				}
			}
			return true
		})
	}
	for dir, ok := range opened {
		if !ok {
			t.Errorf("%s: no file opens the package with what it is for", dir)
		}
	}
}

// TestTheLinkerDropsMethods: whoever calls methods by names that only the run knows has the linker keep
// all methods of the program, a third of it (docs/internals/decisions/size.md).
func TestTheLinkerDropsMethods(t *testing.T) {
	for _, s := range sources(t) {
		for _, used := range s.file.Imports {
			name := strings.Trim(used.Path.Value, `"`)
			if !s.test && slices.Contains([]string{"text/template", "html/template", "net/rpc", "github.com/brianvoe/gofakeit/v7"}, name) {
				t.Errorf("%s imports %s", s.path, name)
			}
		}
	}
}

// TestSequentialPackages: `make test` has the race detector not watch them.
func TestSequentialPackages(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(strings.ReplaceAll(string(text), "\\\n", ""), "\nSEQUENTIAL = ")
	list, _, _ = strings.Cut(list, "\n")
	patterns := strings.Fields(list)
	if len(patterns) < 2 {
		t.Fatalf("the Makefile has no list of them: %q", list)
	}
	for _, s := range sources(t) {
		dir := strings.TrimSuffix("./"+path.Dir(s.path), "/.")
		if !slices.Contains(patterns, dir) && !strings.HasPrefix(dir, "./check") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			starts := false
			switch n := n.(type) {
			case *ast.GoStmt:
				starts = true
			case *ast.SelectorExpr:
				starts = slices.Contains([]string{"Go", "AfterFunc", "Parallel"}, n.Sel.Name)
			}
			if starts {
				t.Errorf("%v: it runs something beside; take %s out of SEQUENTIAL in the Makefile", s.set.Position(n.Pos()), path.Dir(s.path))
			}
			return true
		})
	}
}

func isName(x ast.Expr, names ...string) bool {
	id, ok := x.(*ast.Ident)
	return ok && slices.Contains(names, id.Name)
}
