package script

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"assay/store"
	"assay/workload"
	"assay/workload/script/access"
	"assay/workload/script/pgbench"
)

// program is a compiled script. It is immutable and shared by clients.
type program struct {
	path         string // of the file, for errors
	transactions []transaction
	invariants   []invariant
	counts       []rowCount
	lists        []rowList
	// expects says that a transaction may have an expectation.
	expects bool
	// setup makes tables and loads rows; nil for nothing.
	setup      func(s *setup) error
	weights    uint64
	statements *statements
	// catalog has the tables that setup makes.
	catalog    access.Catalog
	mend       Mend
	handle     map[string]member[handle]
	generators map[string]member[generators]
	// For scripts in pgbench's language.
	protocol  store.Protocol
	defines   map[string]string
	pipelines bool
}

type transaction struct {
	name   string
	weight int64
	// reads is true if it only reads.
	reads bool
	// think is the pause before it.
	think time.Duration
	run   func(c *call) error
	// texts is a script in pgbench's language, which begins and ends transactions; run is nil
	// then.
	texts *sqlFile
}

// declaration is the common part of invariants, counts and lists.
type declaration struct {
	location
	name  string
	query Statement
}

// invariant is a query whose answer must hold in every state, or atEnd alone.
type invariant struct {
	declaration
	wanted expectation
	// empty: the query must give no row, and wanted has no meaning.
	empty, atEnd bool
}

// rowCount declares a number of rows: start, plus each for every transaction that took effect.
type rowCount struct {
	declaration
	transaction string
	each, start int64
}

type location struct{ line, column int }

const maxDeclared = 200

// choose draws an operation's transaction.
func (p *program) choose(random *workload.Random) int {
	if len(p.transactions) == 1 {
		return 0
	}
	at := int64(random.Below(p.weights))
	for i := range p.transactions {
		if at -= p.transactions[i].weight; at < 0 {
			return i
		}
	}
	return len(p.transactions) - 1
}

func randomOf(seed uint64, client int, seq uint64) workload.Random {
	return workload.NewRandom(seed, uint64(client)<<42^seq)
}

// finish checks the declarations as a whole.
func (p *program) finish() error {
	file := p.path
	if len(p.transactions) == 0 {
		return &Error{File: file, Reason: "it declares no transaction", Advice: `write transaction("name", run = function)`}
	}
	if len(p.transactions) > maxDeclared || len(p.invariants) > maxDeclared || len(p.counts) > maxDeclared || len(p.lists) > maxDeclared {
		return &Error{File: file, Reason: fmt.Sprintf("it declares more than %d transactions, invariants, counts or lists", maxDeclared)}
	}
	for _, t := range p.transactions {
		p.weights += uint64(t.weight)
	}
	if p.weights == 0 {
		return &Error{File: file, Reason: "the weights of all scripts are 0", Advice: "give one a weight, as in FILE@1"}
	}
	return p.each(func(what string, d *declaration, of *string) error {
		if of != nil {
			if _, known := p.kind(*of); !known {
				return &Error{File: file, Reason: fmt.Sprintf("%s %q names the transaction %q, which is not declared", what, d.name, *of)}
			}
		}
		return nil
	})
}

// each visits invariants, counts and lists up to the first error. what is the script's word;
// transaction is nil for invariants.
func (p *program) each(use func(what string, d *declaration, transaction *string) error) error {
	for i := range p.invariants {
		if err := use("invariant", &p.invariants[i].declaration, nil); err != nil {
			return err
		}
	}
	for i := range p.counts {
		if err := use("counted", &p.counts[i].declaration, &p.counts[i].transaction); err != nil {
			return err
		}
	}
	for i := range p.lists {
		if err := use("listed", &p.lists[i].declaration, &p.lists[i].transaction); err != nil {
			return err
		}
	}
	return nil
}

// kind is the number of the named transaction.
func (p *program) kind(name string) (int, bool) {
	i := slices.IndexFunc(p.transactions, func(t transaction) bool { return t.name == name })
	return i, i >= 0
}

func (s *statements) declaredQuery(query Statement) (Statement, error) {
	if query.Command != nil {
		query.Reads = true
		if err := s.inLanguage(Documents, "aggregate", "a query in SQL, as a string"); err != nil {
			return query, err
		}
		return query, s.onDocuments(query.Command)
	}
	if err := s.inLanguage(SQL, "a query in SQL", "aggregate(collection, pipeline)"); err != nil {
		return query, err
	}
	of, err := s.inTransaction(query.Text, 0)
	if err == nil && !of.reads {
		err = errors.New("it is no query")
	}
	if err != nil {
		return query, err
	}
	return Statement{Text: of.text, Reads: true}, nil
}

func (p *program) addInvariant(i invariant) error {
	switch {
	case i.name == "" || len(i.name) > 60:
		return errors.New("an invariant has a name of 1 to 60 characters")
	case i.empty == (len(i.wanted) > 0):
		return fmt.Errorf("invariant %q: say what the query must give, by equals, at_least or at_most; or empty = True for no row", i.name)
	}
	p.invariants = append(p.invariants, i)
	return p.takes("invariant", &p.invariants[len(p.invariants)-1].declaration, "", nil)
}

// takes prepares a declared query. By default it is column or stage of the table or collection
// of that name.
func (p *program) takes(what string, d *declaration, column string, stage store.Document) (err error) {
	switch {
	case d.query.Text != "" || d.query.Command != nil || column == "":
	case p.statements.language == Documents:
		d.query = Statement{Command: &DocumentCommand{Verb: Aggregate, Collection: d.name, Pipeline: []any{stage}}}
	default:
		d.query.Text = "SELECT " + column + " FROM " + d.name
	}
	if d.query, err = p.statements.declaredQuery(d.query); err != nil {
		return fmt.Errorf("%s %q: %w", what, d.name, err)
	}
	return nil
}

func (p *program) addCount(c rowCount) error {
	if c.name == "" || len(c.name) > 60 {
		return errors.New("a count has a name of 1 to 60 characters")
	}
	if c.each < 1 || c.each > 1_000_000 || c.start < 0 {
		return fmt.Errorf("counted %q: each is 1 to 1000000, and start 0 or more", c.name)
	}
	p.counts = append(p.counts, c)
	return p.takes("counted", &p.counts[len(p.counts)-1].declaration, "count(*)", documentWith("$count", "documents"))
}

// call is one attempt of an operation. It belongs to the goroutine of the transaction, which may
// outlive the attempt.
type call struct {
	ctx         context.Context
	tx          Transaction
	program     *program
	transaction *transaction
	random      workload.Random
	client      int
	seq         uint64
	attempt     int
	reads       bool
	ids         int64
	sent        Statement // the last one
	// watch is nil if steps are not noted.
	watch *watch
	// part is the open transaction; past are those committed before it. at is the script's line.
	part
	past []part
	at   int
	// begun precedes the first statement. worked is after the work and before COMMIT, in the
	// watch's nanoseconds.
	begun      time.Duration
	worked     atomic.Int64
	expected   int64
	unexpected int64
	findings   []string
	// A script in pgbench's language begins with variables and ends with left.
	variables, left *pgbench.Variables
	// end is the error that ended the work.
	end atomic.Pointer[error]
}

func newCall(p *program, t *transaction, random workload.Random, client int, seq uint64) *call {
	return &call{program: p, transaction: t, random: random, client: client, seq: seq, reads: t.reads}
}

// maxRows bounds one answer.
const maxRows = 100_000

func (c *call) query(s Statement) (rows [][]any, err error) {
	if err := c.lockFirst(s.Command); err != nil {
		return nil, err
	}
	var tooMany error
	err = c.tx.Query(c.ctx, s, func(row []any) error {
		if len(rows) == maxRows {
			tooMany = fmt.Errorf("the query gives more than %d rows; give it a limit", maxRows)
			return tooMany
		}
		rows = append(rows, row)
		return nil
	})
	if tooMany != nil {
		return nil, tooMany
	}
	if err != nil {
		return nil, &databaseError{err}
	}
	return rows, nil
}

// execute returns how many rows a statement changed.
func (c *call) execute(s Statement) (int64, error) {
	changed, err := c.tx.Execute(c.ctx, s)
	if err != nil {
		return 0, &databaseError{err}
	}
	return changed, nil
}

// prepare checks an SQL statement.
func (c *call) prepare(text string, parameters []any) (Statement, error) {
	s, err := c.program.statements.inTransaction(text, len(parameters))
	if err != nil {
		return Statement{}, err
	}
	return c.sending(Statement{Text: s.text, Parameters: parameters, Reads: s.reads, of: s})
}

// prepareCommand checks a command on documents.
func (c *call) prepareCommand(command *DocumentCommand) (Statement, error) {
	if err := c.program.statements.onDocuments(command); err != nil {
		return Statement{}, err
	}
	return c.sending(Statement{Command: command, Reads: command.reads()})
}

func (c *call) sending(s Statement) (Statement, error) {
	if c.reads && !s.Reads {
		return Statement{}, errors.New("the transaction is declared read_only, and the statement is no query; leave read_only out")
	}
	c.sent = s
	return c.mended(s)
}

// id is unique in the run and the same in each attempt of an operation.
func (c *call) id() (int64, error) {
	if c.ids == 1<<idBits {
		return 0, fmt.Errorf("id() was called more than %d times in one transaction", 1<<idBits)
	}
	if c.seq > math.MaxInt64>>(idBits+clientBits) {
		return 0, errors.New("the client has done as many operations as id() can number")
	}
	id := firstID(c.client, c.seq) + c.ids
	c.ids++
	return id, nil
}

func firstID(client int, seq uint64) int64 {
	return (int64(seq)<<(idBits+clientBits) | int64(client)<<idBits) + 1
}

const (
	idBits     = 6
	clientBits = 14 // load.MaxClients, and one for the rehearsal
)

// expect compares a value. A difference is a violation if the transaction commits.
func (c *call) expect(what string, got any, wanted expectation) {
	c.expected++
	if wanted.holds(got) {
		return
	}
	c.unexpected++
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, fmt.Sprintf("%s: %s was to be %s and is %s, after %s", c.name(), what, wanted, show(got), c.sent))
	}
}

func (c *call) name() string { return fmt.Sprintf("client %d, operation %d", c.client, c.seq) }

const maxFindings = 5
