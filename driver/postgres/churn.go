package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"assay/workload"
	"assay/workload/churn"
)

// churnSchema is the place of workload churn in the database.
const churnSchema = "assay_churn"

// churnStore implements churn.Store.
type churnStore struct {
	*schema
	sessions *pgx.ConnConfig // how sessions connect
}

// OpenChurn connects to the target and returns the Store on it, in the schema
// assay_churn of the address's database. Errors are as with OpenBank, and
// *workload.OptionError for a dialect that has no repair.
func OpenChurn(ctx context.Context, target workload.Target) (churn.Store, error) {
	p, err := openSchema(ctx, target, "churn")
	if err != nil {
		return nil, err
	}
	if len(p.dialect.repairs) == 0 {
		p.pool.close()
		return nil, &workload.OptionError{Option: dialectParameter, Value: p.dialect.name, Want: p.dialect.noRepair}
	}
	s := &churnStore{schema: p, sessions: p.config.Copy()}
	if p.isolation != "" {
		s.sessions.RuntimeParams["default_transaction_isolation"] = p.isolation
	}
	return s, nil
}

// Find implements churn.Store.
func (s *churnStore) Find(ctx context.Context) (*workload.Leftover, error) {
	return s.find(ctx, "entry")
}

// Size implements churn.Store; a table's size is that of its files, what is
// free in them included.
func (s *churnStore) Size(ctx context.Context) (workload.Size, error) { return s.size(ctx, "entry") }

// Create implements churn.Store. Autovacuum is left as the server has it: what
// it gives back, or makes room for, is part of what is measured.
func (s *churnStore) Create(ctx context.Context, mark workload.Marker) error {
	return s.create(ctx, mark, []string{`CREATE TABLE ` + churnSchema + `.entry (id bigint PRIMARY KEY, payload text NOT NULL)`})
}

// Repairs implements churn.Store: the plain one makes room for new rows and
// gives the system only what is at the end of a file, the full one writes the
// table anew (manual, "VACUUM").
func (s *churnStore) Repairs() []string { return s.dialect.repairs }

// Repair implements churn.Store.
func (s *churnStore) Repair(ctx context.Context, name string) error {
	if !slices.Contains(s.dialect.repairs, name) {
		return fmt.Errorf("postgres: there is no repair %q", name)
	}
	return operation(strings.ToLower(name), s.pool.use(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, name+` `+churnSchema+`.entry`)
		return err
	}))
}

// Read implements churn.Store.
func (s *churnStore) Read(ctx context.Context, row func(churn.Row) error) error {
	return s.view(ctx, s.pool, func(conn *pgx.Conn) error {
		return stream(ctx, conn, `SELECT id, payload FROM `+churnSchema+`.entry`, func(columns [][]byte) error {
			var r churn.Row
			if err := bigints(columns[:1], &r.ID); err != nil {
				return err
			}
			r.Payload = string(columns[1])
			return stopped(row(r))
		})
	})
}

// churnSession implements churn.Session on one connection.
type churnSession struct{ *connection }

// Session implements churn.Store.
func (s *churnStore) Session(ctx context.Context) (churn.Session, error) {
	l, err := s.dialTo(ctx, s.sessions)
	if err != nil {
		return nil, err
	}
	return &churnSession{l}, nil
}

// Insert implements churn.Session.
func (n *churnSession) Insert(ctx context.Context, rows []churn.Row) churn.Reply {
	ids, payloads := make([]int64, len(rows)), make([]string, len(rows))
	for i, r := range rows {
		ids[i], payloads[i] = r.ID, `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(r.Payload)+`"`
	}
	return n.do(ctx, "insert", `INSERT INTO `+churnSchema+`.entry (id, payload) SELECT * FROM unnest($1::bigint[], $2::text[])`,
		array(ids), []byte("{"+strings.Join(payloads, ",")+"}"))
}

// Delete implements churn.Session.
func (n *churnSession) Delete(ctx context.Context, ids []int64) churn.Reply {
	return n.do(ctx, "delete", `DELETE FROM `+churnSchema+`.entry WHERE id = ANY ($1::bigint[])`, array(ids))
}

// array is a list of numbers as PostgreSQL writes it in text (manual, "Array
// Input and Output Syntax").
func array(ids []int64) []byte {
	return []byte("{" + strings.Trim(strings.ReplaceAll(fmt.Sprint(ids), " ", ","), "[]") + "}")
}

// do runs one statement, a transaction of its own.
func (n *churnSession) do(ctx context.Context, doing, sql string, parameters ...[]byte) churn.Reply {
	p := n.conn.StartPipeline(ctx)
	p.SendQueryParams(sql, parameters, nil, nil, nil)
	_, reply := n.execute(doing, p)
	return reply
}
