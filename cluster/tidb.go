package cluster

import (
	"context"
	"time"

	"assay/cluster/tidb"
)

// tidbEntry starts one TiDB server, on its own store for tests.
func tidbEntry() entry {
	return entry{
		topology:  topology{name: "tidb", scheme: "mysql", nodes: []int{1}, arbiters: []int{0}},
		volatile:  "TiDB's store for tests keeps locks of transactions in memory, so that a killed server has half of some; stop it instead",
		footprint: Footprint{Start: 2 * time.Second, Empty: 256 << 20},
		start: func(ctx context.Context, _ Spec, e environment) (product, error) {
			p, err := tidb.Start(ctx, tidb.Options{Place: place(e, "tidb"), Programs: e.programs})
			if err != nil {
				return nil, err
			}
			return single{p, p.Node}, nil
		},
	}
}
