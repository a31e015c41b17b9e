package mongodb

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"assay/workload"
	"assay/workload/journal"
)

// journalStore is what the Stores of workloads with a journal have in common. A table is a
// collection whose documents have the table's columns as fields of int64, the key as _id.
type journalStore struct {
	*schema
	tables []journal.Table
	// beside is a further field of a table's documents, by the table's number.
	beside map[int]func(values []int64) bson.E
}

// openJournal connects to the server. Errors are as with OpenBank.
func openJournal(ctx context.Context, target workload.Target, name string, tables []journal.Table) (*journalStore, error) {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.Name
	}
	p, err := openSchema(ctx, target, name, names...)
	if err != nil {
		return nil, err
	}
	return &journalStore{schema: p, tables: tables, beside: map[int]func([]int64) bson.E{}}, nil
}

func (s *journalStore) LoadRows(ctx context.Context, table int, rows [][]int64) error {
	documents := make([]bson.D, len(rows))
	for i, row := range rows {
		documents[i] = s.document(table, row)
	}
	return insertAll(ctx, s.collections[table], documents)
}

// document is a row of a table.
func (s *journalStore) document(table int, row []int64) bson.D {
	document, names := make(bson.D, 0, len(row)+1), storedNames(s.tables[table].Columns)
	for i, value := range row {
		document = append(document, bson.E{Key: names[i], Value: value})
	}
	if beside := s.beside[table]; beside != nil {
		document = append(document, beside(row))
	}
	return document
}

// Read implements journal.Store, in one snapshot.
func (s *journalStore) Read(ctx context.Context, row func(journal.Row) error) error {
	return s.view(ctx, func(ctx context.Context) error {
		for number, table := range s.tables {
			values := make([]int64, len(table.Columns))
			fields, names := make([]any, len(values)), storedNames(table.Columns)
			for i := range values {
				fields[i] = &values[i]
			}
			err := each(ctx, s.collections[number], options.Find(), func(document bson.Raw) error {
				if err := decode(document, table.Name, 0, names, fields); err != nil {
					return err
				}
				return row(journal.Row{Table: number, Values: values})
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}
