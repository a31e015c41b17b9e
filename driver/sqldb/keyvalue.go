package sqldb

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"assay/history"
	"assay/workload/keyvalue"
)

// KeyValueSchema is the Schema of a table of records.
func KeyValueSchema(table keyvalue.Table) Schema {
	types := map[keyvalue.Type]Type{keyvalue.Text: String, keyvalue.UUID: UUID}
	of := Table{Name: table.Name, Loaded: table.Loaded, LateKey: table.Loaded, Grows: table.Loaded, Updated: table.Loaded}
	for _, c := range table.All() {
		of.Columns = append(of.Columns, Column{Name: c.Name, Type: types[c.Type], Length: c.Max})
	}
	return Schema{Workload: table.Workload, Tables: []Table{of}, Reads: true}
}

// The statements of a session.
const (
	InsertRecord = iota
	GetRecord
	updateRecord
	scanRecords
)

// KeyValue is the Store on a Database of this table's schema.
func KeyValue(db Database, table keyvalue.Table) keyvalue.Store {
	s := &keyValueStore{Database: db, table: table}
	of := db.Tables()[0]
	var columns, assignments []string
	for i, c := range of.Columns {
		columns = append(columns, c.Name)
		if i > 0 {
			assignments = append(assignments, fmt.Sprintf("%s = $%d", c.Name, i+1))
		}
	}
	full := db.Dialect().Table(of.Name)
	s.all = "SELECT " + strings.Join(columns, ", ") + " FROM " + full
	s.statements = []Statement{
		InsertRecord: {"insert", InsertText(full, columns, 1)},
		GetRecord:    {"get", s.all + " WHERE " + columns[0] + " = $1"},
	}
	if table.Loaded {
		s.columns = columns
		s.statements = append(s.statements,
			Statement{"update", "UPDATE " + full + " SET " + strings.Join(assignments, ", ") + " WHERE " + columns[0] + " = $1"},
			Statement{"scan", s.all + " WHERE " + columns[0] + " >= $1 ORDER BY " + columns[0] + " LIMIT $2"})
	}
	return s
}

type keyValueStore struct {
	Database
	table      keyvalue.Table
	all        string
	columns    []string
	statements []Statement
}

var _ keyvalue.Promising = (*keyValueStore)(nil)

func (s *keyValueStore) Promise() string { return s.PromiseReads() }

// valueOf is a value as a parameter.
func valueOf(v keyvalue.Value) Value {
	switch v := v.(type) {
	case string:
		return OfText(v)
	case uuid.UUID:
		return OfBytes(v[:])
	default:
		n, _ := v.(int64)
		return OfInt(n)
	}
}

// record reads a row of all columns.
func (s *keyValueStore) record(row Row) (keyvalue.Record, error) {
	columns := s.table.All()
	into, values := make([]any, len(columns)), make([]keyvalue.Value, len(columns))
	for i, c := range columns {
		switch c.Type {
		case keyvalue.Text:
			into[i] = new(string)
		case keyvalue.UUID:
			into[i] = new([]byte)
		default:
			into[i] = new(int64)
		}
	}
	if err := row.Scan(into...); err != nil {
		return keyvalue.Record{}, err
	}
	for i, from := range into {
		switch from := from.(type) {
		case *string:
			values[i] = *from
		case *[]byte:
			id, err := uuid.FromBytes(*from)
			if err != nil {
				return keyvalue.Record{}, err
			}
			values[i] = id
		case *int64:
			values[i] = *from
		}
	}
	return keyvalue.Record{Key: values[0], Values: values[1:]}, nil
}

func (s *keyValueStore) Read(ctx context.Context, use func(keyvalue.Record) error) error {
	return view(ctx, s.View, query{s.all, s.Dialect().Table(s.Tables()[0].Name), func(found Row) error {
		r, err := s.record(found)
		if err != nil {
			return err
		}
		return given(use(r))
	}})
}

func (s *keyValueStore) Session(ctx context.Context) (keyvalue.Session, error) {
	return s.MutableSession(ctx)
}

type keyValueSession struct {
	Connection
	store *keyValueStore
}

// appendRecord appends a record as parameters, the key first.
func appendRecord(into []Value, record keyvalue.Record) []Value {
	into = append(into, valueOf(record.Key))
	for _, v := range record.Values {
		into = append(into, valueOf(v))
	}
	return into
}

func (s *keyValueSession) Insert(ctx context.Context, record keyvalue.Record) keyvalue.Reply {
	return keyvalue.Reply{Reply: s.Execute(ctx, InsertRecord, appendRecord(nil, record)...).Inserted()}
}

// Get keeps what it found to itself until the query has ended, since that may go
// on after it has been given up.
func (s *keyValueSession) Get(ctx context.Context, key keyvalue.Value) keyvalue.Reply {
	var found keyvalue.Reply
	reply := s.Query(ctx, GetRecord, func(row Row) (err error) {
		found.Record, err = s.store.record(row)
		found.Found = err == nil
		return err
	}, valueOf(key))
	if reply.Outcome != history.Committed {
		return keyvalue.Reply{Reply: reply}
	}
	found.Reply = reply
	return found
}
