//go:build ferretdb

package cluster

import "testing"

// TestFerretDB: one server that assay starts, as `make ferretdb` has built it.
func TestFerretDB(t *testing.T) { liveAlone(t, "ferretdb:1") }
