package mysql

import (
	"context"
	"errors"
	"testing"

	"assay/workload"
	"assay/workload/bulkupdate"
)

func TestBulkUpdateOptions(t *testing.T) {
	for _, to := range []workload.Target{target(parameter("engine", "NoSuchEngine")), at("chaos")} {
		var refused *workload.OptionError
		if _, err := Open(context.Background(), to, bulkupdate.Schema()); !errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
	}
}
