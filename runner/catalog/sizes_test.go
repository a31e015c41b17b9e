package catalog

import (
	"errors"
	"slices"
	"testing"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/script"
)

// TestOneSmallFlag gives each number alone several small values: it works, or the refusal names
// that flag alone.
func TestOneSmallFlag(t *testing.T) {
	tried := 0
	for _, w := range Workloads() {
		if w.Name == script.Name {
			continue // without a file nothing is possible
		}
		for i, flag := range w.Config().Flags() {
			for _, value := range []int64{1, 2, 3, 10, 100} {
				c := w.Config()
				switch v := c.Flags()[i].Value.(type) {
				case *int:
					*v = int(value)
				case *int64:
					*v = value
				default:
					continue
				}
				tried++
				var refused *store.OptionError
				if err := c.Validate(); err != nil && (!errors.As(err, &refused) || refused.Option != "--"+flag.Name) {
					t.Errorf("run %s --%s %d: %v", w.Name, flag.Name, value, err)
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("%d values were tried", tried)
	}
}

// TestFewOfEach: a workload's own number can be small without another flag.
func TestFewOfEach(t *testing.T) {
	for name, few := range map[string]map[string]int64{
		"bank": {"accounts": 2}, "smallbank": {"customers": 2}, "tpcb": {"accounts": 1, "scale": 1}, "ycsb": {"records": 1}, "entity": {"entities": 1},
		"candles": {"candles": 1, "tickers": 1}, "churn": {"rows": 1}, "bulkupdate": {"users": 1, "documents": 1}, "isolation": {"keys": 1},
		"tpcc": {"warehouses": 1, "items": 100, "customers": 10},
	} {
		w, err := WorkloadOf(name)
		expect.NoError(t, err)
		for flag, value := range few {
			c := w.Config()
			flags := c.Flags()
			i := slices.IndexFunc(flags, func(f definition.Flag) bool { return f.Name == flag })
			switch v := flags[i].Value.(type) {
			case *int:
				*v = int(value)
			case *int64:
				*v = value
			}
			if err := c.Validate(); err != nil {
				t.Errorf("run %s --%s %d: %v", name, flag, value, err)
			}
		}
	}
}
