package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"assay/load"
	"assay/store"
	"assay/workload/definition"
	"assay/workload/replay/recording"
	"assay/workload/replay/statement"
)

// Work is the workload opened on one database.
type Work struct {
	store.Database
	definition.NoPromise
	definition.NoObservers
	config Config
	index  *index
	file   *os.File
	speed  float64
	order  *order // nil at a pace
	found  findings
}

// Open implements definition.Config.
func (c *Config) Open(ctx context.Context, db store.Database, _ uint64, _ int) (definition.Work, error) {
	x, err := c.read()
	if err != nil {
		return nil, err
	}
	if err := speaks(ctx, db, x.dialect()); err != nil {
		return nil, err
	}
	w := &Work{Database: db, config: *c, index: x}
	if w.speed, err = c.times(); err != nil {
		return nil, err
	}
	if w.speed == 0 {
		w.order = newOrder(x.lanes)
	}
	w.found.show, w.found.dialect = c.ShowValues, x.dialect()
	if w.file, err = os.Open(c.File); err != nil {
		return nil, fmt.Errorf("open the recording: %w", err)
	}
	return w, nil
}

// speaks refuses a database that does not send statements as they are, or whose SQL is another.
func speaks(ctx context.Context, db store.Database, dialect statement.Dialect) error {
	refuse := func(reason string) error {
		return &store.OptionError{Option: "--db", Value: "this database", Reason: reason, Want: "PostgreSQL for a recording of PostgreSQL, MySQL or MariaDB for one of these"}
	}
	by, can := store.As[store.Verbatims](db)
	if !can {
		return refuse("it does not send statements as they are written")
	}
	if why := by.Refuses(store.Simple); why != "" {
		return refuse(why)
	}
	product, err := db.Describe(ctx)
	if err != nil {
		return err
	}
	name := strings.ToLower(product.Name)
	mysql := strings.Contains(name, "mysql") || strings.Contains(name, "maria") || strings.Contains(name, "tidb")
	postgres := strings.Contains(name, "postgres") || strings.Contains(name, "cockroach")
	if dialect == statement.Postgres && !postgres || dialect == statement.MySQL && !mysql {
		return refuse("the recording is of " + string(dialect) + ", and this is " + product.Name)
	}
	return nil
}

func (w *Work) Rows() int64 { return 0 }

// Load does nothing: the tables are there.
func (w *Work) Load(context.Context, func(done, total int64)) error { return nil }

// Client is one lane. Its sessions connect when they are due.
func (w *Work) Client(_ context.Context, n int) (load.Client, error) {
	return &lane{work: w, number: n, sessions: w.index.lanes[n], file: w.file}, nil
}

func (w *Work) Close() error { return errors.Join(w.Database.Close(), w.file.Close()) }

// state is what Save keeps for the judge.
type state struct {
	Head       recording.Head `json:"head"`
	Statements []string       `json:"statements"`
	Errors     []finding      `json:"errors"`
}

// Save keeps what the recording's statements are without their values, and the errors that are
// new.
func (w *Work) Save(_ context.Context, folder string, _ func(rows int64)) error {
	text, err := json.MarshalIndent(state{w.index.head, w.index.kinds, w.found.list()}, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, FileState), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep what was replayed: %w", err)
	}
	return nil
}

// finding is an error that the recording does not have.
type finding struct {
	// Statement is its number, and Error what the server answered, without values.
	Statement int    `json:"statement"`
	Error     string `json:"error"`
	Times     int64  `json:"times"`
	// Example is a statement as it was, if that was asked for.
	Example string `json:"example,omitempty"`
}

// maxFound bounds the different errors that are kept.
const maxFound = 100

// findings gathers errors. It is safe for concurrent use.
type findings struct {
	show    bool
	dialect statement.Dialect
	mu      sync.Mutex
	all     []finding
}

func (f *findings) add(number int, r *recording.Record, reply store.Reply) {
	text := reply.Class
	if reply.Err != nil {
		text = reply.Err.Error()
		if statement.MayHoldSecret(text) {
			text = reply.Class
		} else if !f.show {
			text = withoutValues(text)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.all {
		if f.all[i].Statement == number && f.all[i].Error == text {
			f.all[i].Times++
			return
		}
	}
	if len(f.all) < maxFound {
		of := finding{Statement: number, Error: text, Times: 1}
		if f.show {
			of.Example = r.Text
		}
		f.all = append(f.all, of)
	}
}

func (f *findings) list() []finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]finding{}, f.all...)
}

// withoutValues is a server's message with ? for what is in quotes or parentheses behind an
// equals sign, and for numbers but codes of errors.
func withoutValues(message string) string {
	var b strings.Builder
	for i := 0; i < len(message); i++ {
		switch c := message[i]; {
		case c == '\'' || c == '"':
			end := strings.IndexByte(message[i+1:], c)
			if end < 0 {
				return b.String() + "?"
			}
			b.WriteByte('?')
			i += end + 1
		case strings.HasPrefix(message[i:], "=("):
			b.WriteString("=(?)")
			end := strings.IndexByte(message[i:], ')')
			if end < 0 {
				return b.String()
			}
			i += end
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
