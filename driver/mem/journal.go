package mem

import (
	"context"
	"fmt"

	"assay/workload"
	"assay/workload/journal"
)

// journalStore is what the Stores of workloads with a journal have in common: their rows
// by their keys, which are never changed in place.
type journalStore struct {
	baseStore
	kinds  []journal.Table
	tables []*table[int64, []int64]
}

func newJournalStore(b baseStore, kinds []journal.Table) journalStore {
	s := journalStore{baseStore: b, kinds: kinds}
	for range kinds {
		s.tables = append(s.tables, newTable[int64, []int64](b.d))
	}
	return s
}

func (s *journalStore) LoadRows(_ context.Context, table int, rows [][]int64) error {
	return s.locked(true, func() error {
		x := s.d.begin()
		defer x.end()
		for _, row := range rows {
			if _, found := get(x, s.tables[table], row[0]); found {
				return fmt.Errorf("mem: load %s: row %d exists", s.kinds[table].Name, row[0])
			}
			put(x, s.tables[table], row[0], row)
		}
		x.commit()
		return nil
	})
}

func (s *journalStore) Read(ctx context.Context, row func(journal.Row) error) error {
	return s.locked(true, func() error {
		for number, t := range s.tables {
			err := inOrder(ctx, t, func(_ int64, values []int64) error { return row(journal.Row{Table: number, Values: values}) })
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *journalStore) Size(context.Context) (workload.Size, error) {
	var names []string
	for _, t := range s.kinds {
		names = append(names, t.Name)
	}
	return s.size(func() (bytes int64) {
		for i, t := range s.tables {
			bytes += t.count() * int64(24+8*len(s.kinds[i].Columns))
		}
		return bytes
	}, names...)
}

// set writes a row with another value in one column.
func set(x *transaction, t *table[int64, []int64], row []int64, column int, value int64) {
	row = append([]int64(nil), row...)
	row[column] = value
	put(x, t, row[0], row)
}
