package ycsb

import (
	"errors"
	"testing"

	"assay/workload"
	"assay/workload/keyvalue"
)

// unordered is a database that has no order of keys.
type unordered struct{ keyvalue.Mutable }

func (unordered) Scans() (string, error) {
	return "", &workload.OptionError{Option: "scan", Want: "a mix without scans: a, b, c, d, f"}
}

// TestMixesThatTheDatabaseCannotDo: what the database says of scans ends a run whose mix
// has them, and no other.
func TestMixesThatTheDatabaseCannotDo(t *testing.T) {
	for mix, possible := range map[string]bool{"a": true, "b": true, "c": true, "d": true, "e": false, "f": true, "read=0.9,scan=0.1": false} {
		c := Defaults()
		c.Mix = mix
		_, err := NewWork(unordered{}, c, 1)
		refused, is := errors.AsType[*workload.OptionError](err)
		if possible && err != nil || !possible && (!is || refused.Option != "scan") {
			t.Errorf("mix %s: %v", mix, err)
		}
		_, err = NewWork(struct{ keyvalue.Store }{}, c, 1)
		if refused, is := errors.AsType[*workload.OptionError](err); !is || refused.Option != "workload" || refused.Want == "" {
			t.Errorf("mix %s, where no record can be changed: %v", mix, err)
		}
	}
}
