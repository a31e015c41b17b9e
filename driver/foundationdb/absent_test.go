//go:build !foundationdb

package foundationdb

import (
	"context"
	"errors"
	"strings"
	"testing"

	"assay/store"
)

func TestBuiltWithout(t *testing.T) {
	schema := store.Schema{Workload: "bank"}
	opened, err := Open(context.Background(), store.Target{Address: "fdb:///etc/foundationdb/fdb.cluster"}, schema)
	var absent *NotBuiltError
	if !errors.As(err, &absent) || !strings.Contains(err.Error(), "-tags foundationdb") {
		t.Errorf("%v, %v; want *NotBuiltError", opened, err)
	}
	_, err = Open(context.Background(), store.Target{Address: "fdb://host"}, schema)
	var refused *store.OptionError
	if !errors.As(err, &refused) {
		t.Errorf("%v; want *store.OptionError", err)
	}
}
