package cluster

import "testing"

// TestTiDB: one server that assay starts, as `make tidb` has built it.
func TestTiDB(t *testing.T) { liveAlone(t, "tidb:1") }
