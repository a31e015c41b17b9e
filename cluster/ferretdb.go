package cluster

import (
	"context"
	"time"

	"assay/cluster/ferretdb"
)

// ferretdbEntry starts one FerretDB server, over a file of SQLite's.
func ferretdbEntry() entry {
	return entry{
		topology:  topology{name: "ferretdb", scheme: "mongodb", nodes: []int{1}, arbiters: []int{0}},
		footprint: Footprint{Start: time.Second, Empty: 4 << 10},
		start: func(ctx context.Context, _ Spec, e environment) (product, error) {
			p, err := ferretdb.Start(ctx, ferretdb.Options{Place: place(e, "ferretdb"), Programs: e.programs})
			if err != nil {
				return nil, err
			}
			return single{p, p.Node}, nil
		},
	}
}
