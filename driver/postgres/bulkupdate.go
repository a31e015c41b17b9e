package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"assay/history"
	"assay/workload"
	"assay/workload/bulkupdate"
)

// bulkUpdateSchema is the place of workload bulkupdate in the database.
const bulkUpdateSchema = "assay_bulkupdate"

// bulkUpdateStore implements bulkupdate.Store.
type bulkUpdateStore struct {
	*schema
	// sessions is how sessions connect.
	sessions *pgx.ConnConfig
}

// OpenBulkUpdate connects to the target and returns the Store on it, in the
// schema assay_bulkupdate of the address's database. Errors are as with
// OpenBank.
func OpenBulkUpdate(ctx context.Context, target workload.Target) (bulkupdate.Store, error) {
	p, err := openSchema(ctx, target, "bulkupdate")
	if err != nil {
		return nil, err
	}
	s := &bulkUpdateStore{schema: p, sessions: p.config.Copy()}
	if p.isolation != "" {
		s.sessions.RuntimeParams["default_transaction_isolation"] = p.isolation
	}
	return s, nil
}

// Atomic implements bulkupdate.Store: a statement is a transaction of its own,
// which is "all-or-nothing" (manual, "Transactions").
func (s *bulkUpdateStore) Atomic() bool { return true }

// Find implements bulkupdate.Store.
func (s *bulkUpdateStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, "document")
}

// Size implements bulkupdate.Store.
func (s *bulkUpdateStore) Size(ctx context.Context) (workload.Size, error) {
	return s.size(ctx, "document")
}

// Create implements bulkupdate.Store. Every update writes a new version of
// every row; the table is not given room for them beforehand (fillfactor),
// which only somebody would do who knew what is coming.
func (s *bulkUpdateStore) Create(ctx context.Context, mark workload.Marker) error {
	tables := []string{`CREATE TABLE ` + bulkUpdateSchema + `.document (
		id bigint ` + s.dialect.key("document") + `, owner bigint NOT NULL, number bigint NOT NULL,
		flag boolean NOT NULL, generation bigint NOT NULL, payload text NOT NULL)`}
	if !s.dialect.lateKeys {
		tables = append(tables, indexOwner)
	}
	return s.create(ctx, mark, tables)
}

// Load implements bulkupdate.Store.
func (s *bulkUpdateStore) Load(ctx context.Context, batch []bulkupdate.Document) error {
	columns := []string{"id", "owner", "number", "flag", "generation", "payload"}
	return s.load(ctx, "document", columns, len(batch), func(i int) []any {
		d := &batch[i]
		return []any{d.ID, d.User, d.Number, d.Flag, d.Generation, d.Payload}
	})
}

// indexOwner makes the index that the updates find their documents by.
const indexOwner = `CREATE INDEX document_owner ON ` + bulkUpdateSchema + `.document (owner)`

// FinishLoad implements bulkupdate.Store.
func (s *bulkUpdateStore) FinishLoad(ctx context.Context) error {
	var late []string
	if s.dialect.lateKeys {
		late = []string{`ALTER TABLE ` + bulkUpdateSchema + `.document ADD CONSTRAINT document_pkey PRIMARY KEY (id)`, indexOwner}
	}
	return s.finishLoad(ctx, "document", late...)
}

const readDocuments = `SELECT id, owner, number, flag::int::bigint, generation, payload FROM ` + bulkUpdateSchema + `.document`

// Read implements bulkupdate.Store.
func (s *bulkUpdateStore) Read(ctx context.Context, document func(bulkupdate.Document) error) error {
	return s.view(ctx, s.pool, func(conn *pgx.Conn) error {
		return stream(ctx, conn, readDocuments, func(columns [][]byte) error {
			var d bulkupdate.Document
			var flag int64
			if err := bigints(columns[:5], &d.ID, &d.User, &d.Number, &flag, &d.Generation); err != nil {
				return err
			}
			d.Flag, d.Payload = flag != 0, string(columns[5])
			return stopped(document(d))
		})
	})
}

// waiting asks for the deadlocks of the database so far, and how many of the
// workload's sessions wait at this moment, and for what (manual, "The
// Cumulative Statistics System": pg_stat_database, pg_stat_activity,
// "Wait Event Types").
const waiting = `SELECT
	(SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()),
	count(*) FILTER (WHERE wait_event_type = 'Lock'),
	count(*) FILTER (WHERE wait_event_type = 'LWLock'),
	count(*) FILTER (WHERE wait_event_type = 'IO'),
	count(*) FILTER (WHERE state = 'active')
	FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`

// Waits implements bulkupdate.Store.
func (s *bulkUpdateStore) Waits(ctx context.Context) ([]bulkupdate.Wait, error) {
	if !s.dialect.waits {
		return nil, nil
	}
	w := []bulkupdate.Wait{
		{Name: "deadlocks", Unit: bulkupdate.Count},
		{Name: "sessions in a Lock wait", Unit: bulkupdate.Gauge},
		{Name: "sessions in an LWLock wait", Unit: bulkupdate.Gauge},
		{Name: "sessions in an IO wait", Unit: bulkupdate.Gauge},
		{Name: "sessions active", Unit: bulkupdate.Gauge},
	}
	err := s.pool.use(ctx, func(conn *pgx.Conn) error {
		run, _, err := s.runOn(ctx, conn)
		if err != nil {
			return err
		}
		return conn.QueryRow(ctx, waiting, s.sessionName(run)).Scan(&w[0].Value, &w[1].Value, &w[2].Value, &w[3].Value, &w[4].Value)
	})
	if err != nil {
		return nil, operation("ask for waits", err)
	}
	return w, nil
}

// updateDocuments is the workload's statement. It is a transaction of its own.
const updateDocuments = ownStatements

// bulkUpdateSession implements bulkupdate.Session on one connection.
type bulkUpdateSession struct{ *connection }

// Session implements bulkupdate.Store.
func (s *bulkUpdateStore) Session(ctx context.Context) (bulkupdate.Session, error) {
	l, err := s.dialTo(ctx, s.sessions, text{"assay_update",
		`UPDATE ` + bulkUpdateSchema + `.document SET flag = ($2::bigint = 1), generation = $3::bigint WHERE owner = $1::bigint`})
	if err != nil {
		return nil, err
	}
	return &bulkUpdateSession{l}, nil
}

// Update implements bulkupdate.Session.
func (n *bulkUpdateSession) Update(ctx context.Context, user, generation int64, flag bool) bulkupdate.Reply {
	on := int64(0)
	if flag {
		on = 1
	}
	p := n.conn.StartPipeline(ctx)
	n.send(p, updateDocuments, user, on, generation)
	tag, reply := n.execute("update", p)
	if reply.Outcome != history.Committed {
		return bulkupdate.Reply{Reply: reply}
	}
	return bulkupdate.Reply{Reply: reply, Changed: tag.RowsAffected()}
}
