package streaming

import (
	"context"
	"time"

	"assay/cluster/postgres"
)

// server is server i as it is made, and backed up.
func (s *Set) server(i int) *postgres.Server {
	return postgres.On(s.nodes[i], postgres.Options{Programs: s.options.Programs, User: User, Password: s.options.Password,
		Checksums: true, Archive: s.options.Archive, Settings: s.options.Settings})
}

// CheckBackup is as a postgres.Server's.
func (s *Set) CheckBackup(way string, moment bool) error {
	return s.server(0).CheckBackup(way, moment)
}

// BackUp makes a base backup of server i.
func (s *Set) BackUp(ctx context.Context, i int, way, into string) (by string, err error) {
	return s.server(i).BackUp(ctx, i, way, into)
}

// primaryBound is for how long a moment's state waits for a server that takes writes.
const primaryBound = time.Minute

// Restore is as a postgres.Server's. To a moment the log is that of the server that takes writes,
// and is waited for while there is none.
func (s *Set) Restore(ctx context.Context, backup, into string, until time.Time) (address string, end func() error, err error) {
	at := 0
	if !until.IsZero() {
		bounded, cancel := context.WithTimeout(ctx, primaryBound)
		defer cancel()
		if at, err = s.Primary(bounded); err != nil {
			return "", nil, err
		}
	}
	return s.server(at).Restore(ctx, backup, into, until)
}
