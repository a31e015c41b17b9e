package keyvalue

import (
	"context"

	"github.com/google/uuid"

	"assay/history"
	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

// Schema is what a table lies in.
func Schema(table Table) store.Schema {
	of := store.Table{Name: table.Name, Loaded: table.Loaded, LateKey: table.Loaded, Grows: table.Loaded, Updated: table.Loaded}
	types := map[Type]store.Type{Text: store.String, UUID: store.UUID}
	for _, c := range table.All() {
		of.Columns = append(of.Columns, store.Column{Name: c.Name, Type: types[c.Type], Length: c.Max, Narrow: c.Type == Integer})
	}
	return store.Schema{Workload: table.Workload, Space: table.Space, Tables: []store.Table{of}, Reads: true}
}

// By opens the Stores of tables by a driver's Opener.
func By(open store.Opener) Opener {
	return func(ctx context.Context, target workload.Target, table Table) (Store, error) {
		db, err := open(ctx, target, Schema(table))
		if err != nil {
			return nil, err
		}
		return Over(db, table), nil
	}
}

// On is the support of a workload with one table by a driver.
func On(name string, open store.Opener, table func(workload.Target) Table) definition.Support {
	around := func(ctx context.Context, target workload.Target, wrap definition.Wrapper) (workload.Store, error) {
		of := table(target)
		db, err := open(ctx, target, Schema(of))
		if err != nil {
			return nil, err
		}
		return Over(wrap(db, Schema(of)), of), nil
	}
	return definition.Support{Workload: name, Around: around, Open: func(ctx context.Context, target workload.Target) (workload.Store, error) {
		return around(ctx, target, func(db store.Database, _ store.Schema) store.Database { return db })
	}}
}

// The statements of a session.
const (
	insertRecord = iota
	getRecord
	updateRecord
	scanRecords
)

// Over is the Store of a table on a database of its schema.
func Over(db store.Database, table Table) Store {
	d := &database{Database: db, table: table}
	for _, c := range table.All() {
		d.columns = append(d.columns, c.Name)
	}
	key := d.columns[0]
	d.statements = []store.Statement{
		insertRecord: {Name: "insert", Verb: store.Insert, Table: table.Name, Columns: d.columns},
		getRecord:    {Name: "get", Verb: store.Read, Table: table.Name, Columns: d.columns, Where: store.Where(key)},
	}
	if !table.Loaded {
		return d
	}
	update := store.Statement{Name: "update", Verb: store.Update, Table: table.Name, Where: store.Where(key)}
	for i, c := range d.columns[1:] {
		update.Set = append(update.Set, store.Set(c, store.Parameter(i+2)))
	}
	d.statements = append(d.statements, update)
	if db.Lacks()[store.OrderedScans] == "" {
		d.statements = append(d.statements, store.Statement{Name: "scan", Verb: store.Read, Table: table.Name, Columns: d.columns,
			Where: []store.Condition{{Column: key, Is: store.AtLeast, Value: store.Parameter(1)}}, Order: []string{key}, Limit: store.Parameter(2)})
	}
	return d
}

// database is a Mutable over a store.Database.
type database struct {
	store.Database
	table      Table
	columns    []string
	statements []store.Statement
}

var _ = interface {
	Mutable
	Promising
}((*database)(nil))

func (d *database) Promise() string { return d.Promises().Reads }

// Scans implements Mutable.
func (d *database) Scans() (promise string, err error) {
	if why := d.Lacks()[store.OrderedScans]; why != "" {
		return "", &workload.OptionError{Option: "scan", Value: "in the order of keys", Reason: why, Want: "a mix without scans: a, b, c, d, f"}
	}
	return d.Promises().Scans, nil
}

// appendRecord appends a record as parameters, the key first.
func appendRecord(into []store.Value, record Record) []store.Value {
	into = append(into, valueOf(record.Key))
	for _, v := range record.Values {
		into = append(into, valueOf(v))
	}
	return into
}

// valueOf is a value as a parameter.
func valueOf(v Value) store.Value {
	switch v := v.(type) {
	case string:
		return store.OfText(v)
	case uuid.UUID:
		return store.OfBytes(v[:])
	default:
		n, _ := v.(int64)
		return store.OfInt(n)
	}
}

// record reads a row of all columns.
func (d *database) record(row store.Row) (Record, error) {
	columns := d.table.All()
	into, values := make([]any, len(columns)), make([]Value, len(columns))
	for i, c := range columns {
		switch c.Type {
		case Text:
			into[i] = new(string)
		case UUID:
			into[i] = new([]byte)
		default:
			into[i] = new(int64)
		}
	}
	if err := row.Scan(into...); err != nil {
		return Record{}, err
	}
	for i, from := range into {
		switch from := from.(type) {
		case *string:
			values[i] = *from
		case *[]byte:
			id, err := uuid.FromBytes(*from)
			if err != nil {
				return Record{}, err
			}
			values[i] = id
		case *int64:
			values[i] = *from
		}
	}
	return Record{Key: values[0], Values: values[1:]}, nil
}

func (d *database) LoadRecords(ctx context.Context, records []Record) error {
	return d.Load(ctx, store.Rows{Table: d.table.Name, Columns: d.columns, Count: len(records), Row: func(i int, into []store.Value) []store.Value {
		return appendRecord(into, records[i])
	}})
}

func (d *database) Read(ctx context.Context, use func(Record) error) error {
	return store.ReadAll(ctx, d.View, func(r store.Reader) error {
		return store.Whole(ctx, r, store.Statement{Table: d.table.Name, Columns: d.columns}, func(row store.Row) error {
			record, err := d.record(row)
			if err != nil {
				return err
			}
			return use(record)
		})
	})
}

func (d *database) Session(ctx context.Context) (Session, error) { return d.MutableSession(ctx) }

func (d *database) MutableSession(ctx context.Context) (MutableSession, error) {
	s, err := d.Database.Session(ctx, d.statements)
	if err != nil {
		return nil, err
	}
	return &session{s, d}, nil
}

// session is a MutableSession over that of a database.
type session struct {
	store.Session
	database *database
}

func (s *session) Insert(ctx context.Context, record Record) Reply {
	return Reply{Reply: s.Run(ctx, store.Call{Statement: insertRecord, Parameters: appendRecord(nil, record)}).Inserted()}
}

// Update implements MutableSession. Where keys are not told apart a record that is not
// there is made.
func (s *session) Update(ctx context.Context, record Record) Reply {
	r := s.Run(ctx, store.Call{Statement: updateRecord, Parameters: appendRecord(nil, record)})
	there := r.Affected > 0 || s.database.Lacks()[store.UniqueKeys] != ""
	return Reply{Reply: r.Reply, Found: r.Outcome == history.Committed && there}
}

// Get keeps what it found to itself until the query has ended, since that may go on after
// it has been given up.
func (s *session) Get(ctx context.Context, key Value) Reply {
	found, reply := s.read(ctx, getRecord, valueOf(key))
	if len(found) == 0 {
		return Reply{Reply: reply}
	}
	return Reply{Reply: reply, Record: found[0], Found: true}
}

func (s *session) Scan(ctx context.Context, from Value, limit int) ([]Record, Reply) {
	found, reply := s.read(ctx, scanRecords, valueOf(from), store.OfInt(int64(limit)))
	return found, Reply{Reply: reply}
}

// read gives the records that a statement finds, none unless it has committed.
func (s *session) read(ctx context.Context, statement int, parameters ...store.Value) ([]Record, workload.Reply) {
	found := new([]Record)
	r := s.Run(ctx, store.Call{Statement: statement, Parameters: parameters, Row: func(row store.Row) error {
		record, err := s.database.record(row)
		*found = append(*found, record)
		return err
	}})
	if r.Outcome != history.Committed {
		return nil, r.Reply
	}
	return *found, r.Reply
}
