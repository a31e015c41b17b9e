package drivertest

import (
	"testing"
	"time"

	"assay/workload"
	"assay/workload/script"
	"assay/workload/tpcc"
)

// The harness of each workload.
type (
	TPCC   = Harness[tpcc.Store]
	Script = Harness[script.Store]
)

// Harness is what a driver's test gives to have the Store of one workload tested; the fields
// are those of Store. Only Open is needed.
type Harness[S workload.Store] struct {
	// Open returns a Store on the schema under test: in the same server or file
	// at every call. The schema does not exist at first, and the suite drops it
	// before and after each subtest. The suite closes the Store.
	Open func(t *testing.T) S

	MakeForeign   func(t *testing.T)
	ForeignIntact func(t *testing.T)
	Others        []Other
	Secret        string
	OpenVia       func(t *testing.T, addr string) (S, error)
	Server        string
	CommitMarker  []byte
	Restart       func(t *testing.T)

	// OperationsOnly is not looked at: the life cycle is RunStore's.
	OperationsOnly bool
}

// patience bounds what should be quick. It is long, because it is there to end
// a hanging test and not to measure.
const patience = 10 * time.Minute

// markerOf is the marker of a schema that rows are loaded into, or that is loaded as
// there are none. It has characters that a careless driver trips over, and a time that
// every database can hold.
func markerOf(name, run string, rows int64) workload.Marker {
	return workload.Marker{
		Run: run, Workload: name, Version: `v1'";--é`, Rows: rows, Loaded: rows == 0,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 678_000_000, time.UTC),
	}
}
