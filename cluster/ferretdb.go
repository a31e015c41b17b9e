package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"time"

	"assay/cluster/ferretdb"
	"assay/cluster/postgres"
	"assay/cluster/server"
)

// optionBackend says where FerretDB keeps documents.
const optionBackend = "backend"

// ferretdbEntry starts one FerretDB server, over a file of SQLite's or before a PostgreSQL server,
// which is the node then.
func ferretdbEntry() entry {
	return entry{
		topology: topology{name: "ferretdb", scheme: "mongodb", nodes: []int{1}, arbiters: []int{0},
			options: []option{{name: optionBackend, want: "backend=sqlite or backend=postgres (n1 is a server of PostgreSQL, and FerretDB the proxy before it)", check: oneOf("sqlite", "postgres")}},
			roles: []role{{name: RoleProxy, example: "ferretdb:1,backend=postgres", count: func(s Spec) int {
				if s.Options[optionBackend] == "postgres" {
					return 1
				}
				return 0
			}}},
		},
		footprint: Footprint{Start: time.Second, Empty: 4 << 10},
		start:     startFerretDB, clear: postgres.Clear,
	}
}

func startFerretDB(ctx context.Context, s Spec, e environment) (product, error) {
	if s.Options[optionBackend] != "postgres" {
		p, err := ferretdb.Start(ctx, ferretdb.Options{Place: place(e, "ferretdb"), Programs: e.programs})
		if err != nil {
			return nil, err
		}
		return single{p, p.Node}, nil
	}
	behind, err := startServers(ctx, s, e, rand.Text(), nil)
	if err != nil {
		return nil, err
	}
	here := server.Place{Dir: filepath.Join(e.logs, RoleProxy), Log: filepath.Join(e.logs, "ferretdb.log")}
	p, err := ferretdb.Start(ctx, ferretdb.Options{Place: here, Programs: e.programs, PostgreSQL: behind.Address()})
	if err != nil {
		return nil, errors.Join(err, behind.Close())
	}
	p.Number = 1
	return translated{joined{product: behind, with: front{p, p.Node}, first: p.Number}, p}, nil
}

// translated is a product whose clients come through FerretDB.
type translated struct {
	joined
	by *ferretdb.Server
}

// Address is FerretDB's.
func (t translated) Address() string { return t.by.Address() }
