package postgres

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"

	"assay/driver/sqldb"
	"assay/store"
)

// Refuses implements store.Verbatims. Behind a pooler a prepared text may be missing on the next
// transaction's connection.
func (p *schema) Refuses(by store.Protocol) string {
	if p.pooled && by != store.Simple {
		return "behind a connection pooler texts go by the simple protocol alone"
	}
	return ""
}

// pooledText prepares a text for a pooler, by the simple protocol. Outside of a transaction it gets
// one that sets the search path and the isolation level; before and behind count the added results.
// Texts that cannot run in a transaction are refused. A text may end in a comment.
func (c *connection) pooledText(text *store.UserText) (sent string, before, behind int, err error) {
	level := c.schema.isolation
	if !c.schema.pooled || level == "" && c.opening == nil || c.Status() != store.Idle {
		return text.Text, 0, 0, nil
	}
	switch own := strings.Contains(strings.ToLower(text.Text), "isolation"); {
	case text.Kind == store.Begins && level != "" && !own:
		added := append([]string{text.Text, "SET TRANSACTION ISOLATION LEVEL " + level}, c.opening...)
		return strings.Join(added, "\n; "), 0, len(added) - 1, nil
	case text.Kind == store.Begins:
		return strings.Join(append([]string{text.Text}, c.opening...), "\n; "), 0, len(c.opening), nil
	case text.Kind == store.NoEffect || text.Kind == store.Writes:
		all := append(append([]string{c.texts[begin].Text}, c.opening...), text.Text, "COMMIT")
		return strings.Join(all, "\n; "), len(all) - 2, 1, nil
	case text.Kind == store.Defines && c.opening == nil:
		return text.Text, 0, 0, nil // it reads nothing by its level
	}
	return "", 0, 0, errors.New("behind a connection pooler a statement that is no query and changes no rows stands between BEGIN and COMMIT")
}

// Status implements sqldb.TextWire by ReadyForQuery.
func (c *connection) Status() store.Status {
	switch c.conn.TxStatus() {
	case idle:
		return store.Idle
	case open:
		return store.Open
	}
	return store.Aborted
}

// MayCommit implements sqldb.TextWire. Within a transaction block only COMMIT commits: a CALL or DO
// cannot (manual, "Transaction Management" of procedures). A joined text may have one.
func (c *connection) MayCommit(text *store.UserText) bool {
	return text.Kind == store.Anything && text.Joined
}

// Separate implements sqldb.TextWire: a simple Query is one transaction (manual, "Multiple
// Statements in a Simple Query").
func (c *connection) Separate() bool { return false }

// SendTexts implements sqldb.TextWire. Several texts are a pipeline with one Sync, which outside of
// a transaction is a transaction itself (manual, "Pipelining").
func (c *connection) SendTexts(ctx context.Context, texts []store.UserText) (results []store.Result, at sqldb.Stage, err error) {
	c.unreplicated = false
	c.conn.begin()
	if texts[0].Protocol == store.Simple {
		if len(texts) > 1 {
			return nil, sqldb.BeforeCommit, errors.New(cmp.Or(c.schema.Refuses(store.Pipeline), "a pipeline cannot use the simple protocol"))
		}
		return c.sendSimple(ctx, &texts[0])
	}
	for i := range texts {
		c.sendText(&texts[i])
	}
	if err := c.conn.sync(ctx); err != nil {
		return nil, sqldb.Alone, err
	}
	c.results, at = c.results[:0], sqldb.Alone
	for i := range texts {
		if c.results, err = c.conn.result(c.results, texts[i].Keep); err == nil {
			err = rolledBack(texts[i], c.conn.tag)
		}
		if err != nil {
			break
		}
		if texts[i].Protocol == store.Prepared {
			c.named[texts[i].Text].parsed = true
		}
	}
	ended := c.conn.end()
	if err == nil {
		at, err = sqldb.Committing, ended
	}
	return c.results, at, c.replicated(err)
}

func (c *connection) sendSimple(ctx context.Context, text *store.UserText) (results []store.Result, at sqldb.Stage, err error) {
	sent, before, behind, err := c.pooledText(text)
	if err != nil {
		return nil, sqldb.BeforeCommit, err
	}
	c.conn.query(sent)
	if err := c.conn.flush(ctx); err != nil {
		return nil, sqldb.Alone, err
	}
	c.results, err = c.conn.results(c.results[:0], text.Keep)
	if results = c.results; err != nil {
		return results, sqldb.Alone, c.replicated(err)
	}
	if len(results) >= before+behind {
		results = results[before : len(results)-behind]
	}
	return results, sqldb.Alone, cmp.Or(c.replicated(nil), rolledBack(*text, c.conn.tag))
}

// rolledBack returns an error if ROLLBACK answered a text that commits.
func rolledBack(text store.UserText, tag string) error {
	if text.Kind == store.Commits && tag == "ROLLBACK" {
		return errRolledBack
	}
	return nil
}

// namedText is a prepared text; parsed is false until its first success.
type namedText struct {
	name   string
	parsed bool
}

func (c *connection) sendText(text *store.UserText) {
	data := make([][]byte, len(text.Parameters))
	for i, p := range text.Parameters {
		if p != nil {
			data[i] = []byte(*p)
		}
	}
	if text.Protocol == store.Extended {
		c.conn.executeText(text.Text, data, nil, nil)
		return
	}
	if c.named == nil {
		c.named = map[string]*namedText{}
	}
	of := c.named[text.Text]
	if of == nil {
		of = &namedText{name: preparedPrefix + "user_" + strconv.Itoa(len(c.named)+1)}
		c.named[text.Text] = of
	}
	if !of.parsed {
		c.conn.close(of.name) // what failed before may have left it
		c.conn.parse(of.name, text.Text)
	}
	c.conn.executeDescribed(of.name, data)
}

// Parts of an exchange for users' texts.

// query adds a text by the simple protocol, which ends the exchange.
func (x *exchange) query(text string) {
	x.keep((&pgproto3.Query{String: text}).Encode(x.out))
}

func (x *exchange) close(name string) {
	x.keep((&pgproto3.Close{ObjectType: 'S', Name: name}).Encode(x.out))
}

func (x *exchange) parse(name, text string) {
	x.keep((&pgproto3.Parse{Name: name, Query: text}).Encode(x.out))
}

func (x *exchange) executeDescribed(name string, parameters [][]byte) {
	x.keep((&pgproto3.Bind{PreparedStatement: name, Parameters: parameters}).Encode(x.out))
	x.keep((&pgproto3.Describe{ObjectType: 'P'}).Encode(x.out))
	x.keep((&pgproto3.Execute{}).Encode(x.out))
}

func (x *exchange) results(into []store.Result, keep bool) ([]store.Result, error) {
	defer x.onSocket.End()
	for {
		message, err := x.receive()
		if err != nil {
			return into, err
		}
		if ready, is := message.(*pgproto3.ReadyForQuery); is {
			x.status = ready.TxStatus
			return into, nil
		}
		if into, err = x.resultFrom(message, into, keep); err != nil {
			_ = x.end() // the first error is the one that matters
			return into, err
		}
	}
}

func (x *exchange) result(into []store.Result, keep bool) ([]store.Result, error) {
	message, err := x.receive()
	if err != nil {
		return into, err
	}
	return x.resultFrom(message, into, keep)
}

// resultFrom reads a statement's answer, beginning with this message.
func (x *exchange) resultFrom(message pgproto3.BackendMessage, into []store.Result, keep bool) ([]store.Result, error) {
	var of store.Result
	var err error
	for {
		switch m := message.(type) {
		case *pgproto3.ParseComplete, *pgproto3.BindComplete, *pgproto3.CloseComplete, *pgproto3.NoData:
		case *pgproto3.RowDescription:
			for i := 0; keep && i < len(m.Fields); i++ {
				of.Columns = append(of.Columns, string(m.Fields[i].Name))
			}
		case *pgproto3.DataRow:
			if of.Rows++; keep {
				of.Last = copyRow(of.Last[:0], m.Values)
			}
		case *pgproto3.CommandComplete:
			if x.tag = string(m.CommandTag); of.Rows == 0 && of.Columns == nil {
				of.Rows = affected(m.CommandTag)
			}
			return append(into, of), nil
		case *pgproto3.EmptyQueryResponse:
			x.tag = ""
			return append(into, of), nil
		case *pgproto3.ErrorResponse:
			return into, x.refused(m)
		default:
			return into, x.unexpected(m)
		}
		if message, err = x.receive(); err != nil {
			return into, err
		}
	}
}

func copyRow(into []*string, values [][]byte) []*string {
	for _, v := range values {
		if v == nil {
			into = append(into, nil)
			continue
		}
		text := string(v)
		into = append(into, &text)
	}
	return into
}
