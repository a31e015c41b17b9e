package mysql

import (
	"regexp"
	"strings"
	"testing"

	library "github.com/go-sql-driver/mysql"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/bank"
	"assay/workload/bulkupdate"
	"assay/workload/candles"
	"assay/workload/churn"
	"assay/workload/isolation"
)

// TestThePrivilegeHintCoversEveryDatabase: its privileges are enough for every workload.
func TestThePrivilegeHintCoversEveryDatabase(t *testing.T) {
	opened, err := openSchema(t.Context(), target(), bank.Schema())
	expect.NoError(t, err)
	defer opened.Close()
	hint := opened.Operation("create", &library.MySQLError{Number: codeDatabaseDenied}).Error()
	grant := regexp.MustCompile("GRANT ALL ON `([^`]+)`").FindStringSubmatch(hint)
	if grant == nil || !strings.Contains(hint, "begin with "+schemaPrefix+" ") {
		t.Fatalf("the hint is %q", hint)
	}
	// MariaDB's patterns: \_ is an underscore, % anything.
	pattern := regexp.MustCompile("^" + strings.NewReplacer(`\_`, "_", "_", ".", "%", ".*").Replace(grant[1]) + "$")
	for _, of := range []store.Schema{
		bank.Schema(), isolation.Schema(), candles.Schema(), bulkupdate.Schema(), churn.Schema(),
		{Workload: "smallbank"}, {Workload: "tpcb"}, {Workload: "tpcc"}, {Workload: "availability"}, {Workload: "entity"},
	} {
		s, err := openSchema(t.Context(), target(), of)
		expect.NoError(t, err)
		if !pattern.MatchString(s.Name) {
			t.Errorf("%q does not cover database %s", grant[1], s.Name)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if pattern.MatchString("assayXbank") {
		t.Errorf("%q covers more than databases of ours", grant[1])
	}
}
