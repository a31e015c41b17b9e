//go:build !foundationdb

package foundationdb

import (
	"context"
	"errors"
	"strings"
	"testing"

	"assay/workload"
	"assay/workload/entity"
)

func TestBuiltWithout(t *testing.T) {
	for name, open := range map[string]func(workload.Target) (any, error){
		"bank":      func(target workload.Target) (any, error) { return OpenBank(context.Background(), target) },
		"isolation": func(target workload.Target) (any, error) { return OpenIsolation(context.Background(), target) },
		"entity": func(target workload.Target) (any, error) {
			return OpenKeyValue(context.Background(), target, entity.Table())
		},
		"bulkupdate": func(target workload.Target) (any, error) { return OpenBulkUpdate(context.Background(), target) },
		"candles":    func(target workload.Target) (any, error) { return OpenCandles(context.Background(), target) },
	} {
		store, err := open(workload.Target{Address: "fdb:///etc/foundationdb/fdb.cluster"})
		var absent *NotBuiltError
		if !errors.As(err, &absent) || !strings.Contains(err.Error(), "-tags foundationdb") {
			t.Errorf("%s: %v, %v; want *NotBuiltError", name, store, err)
		}
		_, err = open(workload.Target{Address: "fdb://host"})
		var refused *workload.OptionError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v; want *workload.OptionError", name, err)
		}
	}
}
