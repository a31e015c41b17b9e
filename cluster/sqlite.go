package cluster

import (
	"context"
	"time"

	"assay/cluster/sqlite"
)

func sqliteEntry() entry {
	return entry{
		topology: topology{
			name: "sqlite", scheme: "http", nodes: []int{1}, arbiters: []int{0},
			options: []option{
				{name: "journal", want: "journal=wal, journal=delete or journal=truncate (PRAGMA journal_mode)", check: oneOf("wal", "delete", "truncate")},
				{name: "synchronous", want: "synchronous=extra, full, normal or off (PRAGMA synchronous)", check: oneOf("extra", "full", "normal", "off")},
			},
		},
		footprint: Footprint{Start: time.Second, Empty: 1 << 20},
		start: func(ctx context.Context, s Spec, e environment) (product, error) {
			p, err := sqlite.Start(ctx, sqlite.Options{
				Place: place(e, "sqlite"), Programs: e.programs,
				Journal: s.Options["journal"], Synchronous: s.Options["synchronous"],
			})
			if err != nil {
				return nil, err
			}
			return single{p, p.Node}, nil
		},
	}
}
