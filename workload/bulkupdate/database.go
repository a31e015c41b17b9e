package bulkupdate

import (
	"context"

	"assay/store"
	"assay/workload"
	"assay/workload/definition"
)

const table = "document"

// Schema is the table. Every update writes a new version of every row; the table is not
// given room for them beforehand (Updated), which only somebody would do who knew what is
// coming.
func Schema() store.Schema {
	return store.Schema{Workload: Name, Durable: true, Tables: []store.Table{{
		Name: table,
		Columns: []store.Column{
			{Name: "id"}, {Name: "owner"}, {Name: "number"}, {Name: "flag", Type: store.Boolean}, {Name: "generation"},
			{Name: "payload", Type: store.String, Length: 255},
		},
		Indexes: []store.Index{{Name: "document_owner", Columns: []string{"owner"}, Late: true}},
		Loaded:  true, LateKey: true,
	}}}
}

// Opener opens the Store by a driver's Opener.
func Opener(open store.Opener) func(context.Context, workload.Target) (Store, error) {
	return definition.Opening(definition.Fixed(Schema), open, Over)
}

// On is the support of the workload by a driver.
func On(open store.Opener, lacks store.Lacks) definition.Support {
	return definition.On(Definition(), open, lacks, Opener)
}

// Over is the Store on a database of the workload's schema.
func Over(db store.Database) Store { return &database{db} }

// database is a Store over a store.Database.
type database struct{ store.Database }

func (d *database) Atomic() bool { return d.Promises().Atomic }

func (d *database) Waits(ctx context.Context) ([]Wait, error) {
	if counting, is := store.As[store.Counting](d.Database); is {
		return counting.Waits(ctx)
	}
	return nil, nil
}

func (d *database) Load(ctx context.Context, batch []Document) error {
	return d.Database.Load(ctx, store.RowsOf(table, Columns(), batch))
}

func (d *database) Read(ctx context.Context, document func(Document) error) error {
	return store.ReadAll(ctx, d.View, func(r store.Reader) error { return store.Each(ctx, r, table, Columns(), document) })
}

func (d *database) Session(ctx context.Context) (Session, error) {
	s, err := d.Database.Session(ctx, []store.Statement{{Name: "update", Verb: store.Update, Table: table, Where: store.Where("owner"),
		Set: []store.Assignment{store.Set("flag", store.Parameter(2)), store.Set("generation", store.Parameter(3))}}})
	if err != nil {
		return nil, err
	}
	return session{s}, nil
}

// session is a Session over that of a database.
type session struct{ store.Session }

func (s session) Update(ctx context.Context, user, generation int64, flag bool) Reply {
	r := s.Run(ctx, store.Call{Parameters: []store.Value{store.OfInt(user), store.OfBool(flag), store.OfInt(generation)}})
	return Reply{Reply: r.Reply, Changed: r.Affected}
}
