package sqldb

import (
	"context"
	"errors"
	"strconv"

	"assay/store"
)

// Statistics implements store.Statistics by a query of names and values, both text.
type Statistics struct {
	// Figures are the values to take; Key is the name in a row.
	Figures []store.NamedValue
	// Connect makes the connection and returns the server's identity and a query that it knows.
	Connect func(ctx context.Context) (c Conn, server, query string, err error)

	conn          Conn
	server, query string
}

var _ store.Statistics = (*Statistics)(nil)

// List implements store.Statistics.
func (s *Statistics) List() []store.Statistic { return store.ListOf(s.Figures) }

// Read implements store.Statistics.
func (s *Statistics) Read(ctx context.Context) (reading store.Reading, err error) {
	if s.conn == nil {
		if s.conn, s.server, s.query, err = s.Connect(ctx); err != nil {
			s.conn = nil
			return reading, err
		}
	}
	status := map[string]string{}
	err = s.conn.Query(ctx, s.query, func(row store.Row) error {
		var name, value string
		if err := row.Scan(&name, &value); err != nil {
			return err
		}
		status[name] = value
		return nil
	})
	if err != nil {
		s.Close()
		return reading, err
	}
	if len(status) == 0 {
		return reading, errors.New("the server tells this user nothing of its work")
	}
	return store.ReadingOf(s.server, s.Figures, func(key string) (float64, bool) {
		value, err := strconv.ParseFloat(status[key], 64)
		return value, err == nil
	}), nil
}

// Close implements store.Statistics.
func (s *Statistics) Close() {
	if s.conn != nil {
		s.conn.HangUp()
		s.conn = nil
	}
}
