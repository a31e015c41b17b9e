package streaming

import (
	"context"
	"time"

	"assay/cluster/postgres"
)

func (s *Set) server(i int) *postgres.Server {
	return postgres.On(s.nodes[i], postgres.Options{Programs: s.options.Programs, User: User, Password: s.options.Password,
		Checksums: true, Archive: s.options.Archive, Settings: s.options.Settings})
}

// CheckBackup is postgres.Server.CheckBackup.
func (s *Set) CheckBackup(way string, moment bool) error {
	return s.server(0).CheckBackup(way, moment)
}

// BackUp makes a base backup of server i.
func (s *Set) BackUp(ctx context.Context, i int, way, into string) (by string, err error) {
	return s.server(i).BackUp(ctx, i, way, into)
}

const primaryBound = time.Minute

// Restore to a moment waits for a primary, whose log it needs.
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
