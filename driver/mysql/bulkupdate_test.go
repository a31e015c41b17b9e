package mysql

import (
	"context"
	"errors"
	"testing"

	"assay/store"
	"assay/workload/bulkupdate"
)

func TestBulkUpdateOptions(t *testing.T) {
	for _, to := range []store.Target{target(parameter("engine", "NoSuchEngine")), at("chaos")} {
		var refused *store.OptionError
		if _, err := Open(context.Background(), to, bulkupdate.Schema()); !errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
	}
}
