package mysql

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	library "github.com/go-sql-driver/mysql"
)

// TestThePrivilegeHintCoversEveryDatabase: whoever does what the hint says may
// run every workload. The names are read from the source, so that a new
// workload's is not forgotten.
func TestThePrivilegeHintCoversEveryDatabase(t *testing.T) {
	hint := advise("create", &library.MySQLError{Number: codeDatabaseDenied}).Error()
	grant := regexp.MustCompile("GRANT ALL ON `([^`]+)`").FindStringSubmatch(hint)
	if grant == nil || !strings.Contains(hint, "begin with "+schemaPrefix+" ") {
		t.Fatalf("the hint is %q", hint)
	}
	// As MariaDB reads it: \_ is an underscore, % anything.
	pattern := regexp.MustCompile("^" + strings.NewReplacer(`\_`, "_", "_", ".", "%", ".*").Replace(grant[1]) + "$")
	names := schemaNames(t)
	if len(names) < 7 {
		t.Fatalf("only these databases were found: %v", names)
	}
	for _, name := range names {
		if !pattern.MatchString(name) {
			t.Errorf("%q does not cover database %s", grant[1], name)
		}
	}
	if pattern.MatchString("assayXbank") {
		t.Errorf("%q covers more than databases of ours", grant[1])
	}
}

// schemaNames are the values of the package's constants of names that end in
// Schema.
func schemaNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasSuffix(spec.Names[0].Name, "Schema") {
				return true
			}
			switch v := spec.Values[0].(type) {
			case *ast.BasicLit:
				names = append(names, strings.Trim(v.Value, `"`))
			case *ast.BinaryExpr:
				if fmt.Sprint(v.X) == "schemaPrefix" {
					names = append(names, schemaPrefix+strings.Trim(v.Y.(*ast.BasicLit).Value, `"`))
				}
			}
			return true
		})
	}
	return names
}
