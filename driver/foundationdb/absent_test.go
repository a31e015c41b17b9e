//go:build !foundationdb

package foundationdb

import (
	"context"
	"errors"
	"strings"
	"testing"

	"assay/store"
	"assay/workload"
)

func TestBuiltWithout(t *testing.T) {
	for name, open := range map[string]func(workload.Target) (any, error){
		"any":        func(target workload.Target) (any, error) { return Open(context.Background(), target, store.Schema{}) },
		"isolation":  func(target workload.Target) (any, error) { return OpenIsolation(context.Background(), target) },
		"bulkupdate": func(target workload.Target) (any, error) { return OpenBulkUpdate(context.Background(), target) },
		"candles":    func(target workload.Target) (any, error) { return OpenCandles(context.Background(), target) },
	} {
		opened, err := open(workload.Target{Address: "fdb:///etc/foundationdb/fdb.cluster"})
		var absent *NotBuiltError
		if !errors.As(err, &absent) || !strings.Contains(err.Error(), "-tags foundationdb") {
			t.Errorf("%s: %v, %v; want *NotBuiltError", name, opened, err)
		}
		_, err = open(workload.Target{Address: "fdb://host"})
		var refused *workload.OptionError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v; want *workload.OptionError", name, err)
		}
	}
}
