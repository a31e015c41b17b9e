package drivertest

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"assay/history"
	"assay/store"
)

// openSchema is empty: statements in the database's language make its tables.
func openSchema() store.Schema {
	return store.Schema{Workload: ConformanceOpen, Transactions: true, Open: true}
}

// said is a statement in SQL, and the equal command on documents.
type said struct {
	text    string
	with    []any
	command store.Document
	reads   bool
}

// document takes names and values in turn.
func document(fields ...any) (d store.Document) {
	for i := 0; i < len(fields); i += 2 {
		d = append(d, store.Field{Name: fields[i].(string), Value: fields[i+1]})
	}
	return d
}

func (f *fixture) documents() bool { return f.lacks[store.SQL] != "" }

func (f *fixture) native(s said) store.Statement {
	if f.documents() {
		s.text = store.Command
	}
	return store.Statement{Verb: store.Native, Text: s.text, Gives: s.reads, Reads: s.reads}
}

func (f *fixture) parameters(s said) []store.Value {
	if f.documents() {
		return []store.Value{store.OfDocument(s.command)}
	}
	return with(s.with...)
}

func tableOfRecords() said {
	return said{text: "CREATE TABLE record (id bigint PRIMARY KEY, content varchar(100))", command: document("create", "record")}
}

func recording(id int64, content string) said {
	return said{text: "INSERT INTO record (id, content) VALUES ($1, $2)", with: []any{id, content},
		command: document("insert", "record", "documents", []any{document("_id", id, "content", content)})}
}

func lookup(id int64) said {
	return said{text: "SELECT content FROM record WHERE id = $1", with: []any{id}, reads: true,
		command: document("find", "record", "filter", document("_id", id))}
}

func allRecords() said {
	return said{text: "SELECT id, content FROM record ORDER BY id", reads: true, command: document("find", "record", "filter", store.Document{})}
}

func updatingRecords(bound int64) said {
	return said{text: "UPDATE record SET content = $1 WHERE id < $2", with: []any{"changed", bound},
		command: document("update", "record", "updates", []any{document("q", document("_id", document("$lt", bound)),
			"u", document("$set", document("content", "changed")), "multi", true)})}
}

func deletingRecord(id int64) said {
	return said{text: "DELETE FROM record WHERE id = $1", with: []any{id},
		command: document("delete", "record", "deletes", []any{document("q", document("_id", id), "limit", int64(0))})}
}

func (f *fixture) recordParameters(w sentWrite) []store.Value {
	if !f.schema.Open {
		return with(w.ID, w.content)
	}
	return f.parameters(recording(w.ID, w.content))
}

func (f *fixture) learn(ctx context.Context, session store.Session, s said) (int, error) {
	of := f.native(s)
	of.Name = "learned"
	return session.(store.Learner).Learn(ctx, of)
}

// replies learns and runs each statement in a session of its own. A refusal to learn counts as
// failed.
func (f *fixture) replies(db store.Database, all ...said) (replies []store.Reply) {
	f.t.Helper()
	for _, s := range all {
		session := f.session(db)
		n, err := f.learn(f.ctx, session, s)
		reply := store.Reply{Outcome: history.Failed, Class: store.ClassOther, Err: err}
		if err == nil {
			call := store.Call{Statement: n, Parameters: f.parameters(s)}
			if s.reads {
				call.Row = func(store.Row) error { return nil }
			}
			reply = session.Run(f.ctx, call)
		}
		replies = append(replies, reply)
		session.Close()
	}
	return replies
}

// make runs a setup's statements and has the tables recorded.
func (f *fixture) make(db store.Database, all ...said) error {
	f.t.Helper()
	for i, r := range f.replies(db, all...) {
		if r.Outcome != history.Committed || r.Err != nil {
			f.t.Fatalf("%s: %+v", all[i].text, r)
		}
	}
	recorded, is := store.As[store.Recording](db)
	if !is {
		return errors.New("the database does not record what a setup has made")
	}
	return recorded.RecordMade(f.ctx)
}

// loadRecords loads rows and finishes loading.
func (f *fixture) loadRecords(db store.Database, ids ...int64) {
	f.t.Helper()
	rows := store.Rows{Table: "record", Count: len(ids), Row: func(i int, into []store.Value) []store.Value {
		return append(into, store.OfDocument(document("_id", ids[i], "content", "a\tb\\\n'")))
	}}
	if !f.documents() {
		rows.Columns = recordColumns().Names
		rows.Row = func(i int, into []store.Value) []store.Value { return append(into, with(ids[i], "a\tb\\\n'")...) }
	}
	f.must("Load", db.Load(f.ctx, rows))
	f.must("FinishLoad", db.FinishLoad(f.ctx))
	for _, id := range ids {
		f.ledger.record(sentWrite{entry: entry{ID: id}, content: "a\tb\\\n'", outcome: history.Committed})
	}
}

func (f *fixture) readRecords(ctx context.Context, r store.Reader, give func(record) error) error {
	all := f.native(allRecords())
	all.Name = "records"
	return r.Read(ctx, all, func(row store.Row) error {
		values, err := row.AppendValues(nil)
		if err != nil {
			return err
		}
		if d, is := values[0].(store.Document); is {
			values = []any{d.Value("_id"), d.Value("content")}
		}
		return give(record{values[0].(int64), values[1].(string)})
	}, f.parameters(allRecords())...)
}

func openOutcomes() []operation {
	return []operation{
		{"Get", (*fixture).testGet},
		{"Values", (*fixture).testValues},
		{"Alone", (*fixture).testAlone},
		{"Together", (*fixture).testTogether},
		{"Verbatim", (*fixture).testVerbatimOutcomes},
		{"VerbatimJoined", (*fixture).testVerbatimJoined},
		{"VerbatimAnswers", (*fixture).testVerbatimAnswers},
		{"VerbatimPipeline", (*fixture).testVerbatimPipeline},
		{"Made", (*fixture).testMade}, // which makes the schema anew
	}
}

// testValues: values are read as written, in a transaction and in a view; NULL, sums and counts
// have the types that a user expects.
func (f *fixture) testValues() {
	put, look := documentValues()
	wants := [][]any{{put.command[1].Value.([]any)[0]}}
	if !f.documents() {
		wants = [][]any{{int64(1) << 62, int64(-7), 1.5, "it's \\ \"$1\" ü"}, {nil, nil, nil, nil}, {int64(0), int64(1), -2.0, ""}}
		f.must("RecordMade", f.make(f.store, said{text: "CREATE TABLE kinds (n bigint, i int, f double precision, t varchar(100))"}))
		put = said{text: "INSERT INTO kinds (n, i, f, t) VALUES ($1, $2, $3, $4)", with: wants[0]}
		look = []said{{text: "SELECT n, i, f, t FROM kinds", reads: true}}
	}
	writer := f.session(f.store, f.native(put))
	for _, row := range wants {
		if put.with = row; f.documents() {
			put.with = nil
		}
		r := writer.Run(f.ctx, store.Call{Statement: 0, Parameters: f.parameters(put)})
		if r.Outcome != history.Committed || r.Err != nil {
			f.t.Errorf("%v: %+v", row, r)
		}
	}
	if !f.documents() {
		f.must("Load", f.store.Load(f.ctx, store.Rows{Table: "kinds", Columns: []string{"n", "i", "f", "t"}, Count: len(wants),
			Row: func(i int, into []store.Value) []store.Value { return append(into, with(wants[i]...)...) }}))
		f.must("FinishLoad", f.store.FinishLoad(f.ctx))
		wants = append(slices.Clone(wants), wants...)
	}
	for _, s := range look {
		f.wantRows(s, wants...)
	}
	if f.documents() {
		f.ledger.record(sentWrite{entry: entry{ID: 9}, content: "it's \\ \"$1\" \u00fc", outcome: history.Committed})
		return
	}
	for _, truth := range []any{int64(1), true} { // as the product has booleans
		sums := said{text: "SELECT sum(i), count(*), avg(f), min(t), max(t) IS NOT NULL FROM kinds WHERE i > $1", with: []any{int64(-100)}, reads: true}
		if rows := f.rows(f.store.View, sums); truth == rows[0][4] {
			f.wantRows(sums, []any{int64(-12), int64(4), -0.25, "", truth})
			return
		}
	}
	f.t.Error("a comparison is neither a boolean nor a number")
}

func documentValues() (put said, look []said) {
	d := document("_id", int64(9), "content", "it's \\ \"$1\" \u00fc", "n", int64(1)<<62, "f", 1.5, "b", true, "none", nil,
		"list", []any{int64(1), "a", nil, document("x", -2.0)}, "empty", store.Document{}, "nothing", []any{})
	put.command = document("insert", "record", "documents", []any{d})
	return put, []said{
		{reads: true, command: document("find", "record", "filter", document("list.3.x", -2.0), "limit", int64(5))},
		{reads: true, command: document("aggregate", "record", "pipeline", []any{document("$match", document("b", true))}, "cursor", store.Document{})},
	}
}

func (f *fixture) rows(look view, s said) (rows [][]any) {
	f.t.Helper()
	of := f.native(s)
	of.Name = "rows"
	f.must("View", look(f.ctx, func(r store.Reader) error {
		rows = nil
		return r.Read(f.ctx, of, into(&rows), f.parameters(s)...)
	}))
	return rows
}

func into(rows *[][]any) func(store.Row) error {
	return func(row store.Row) error {
		values, err := row.AppendValues(nil)
		*rows = append(*rows, values)
		return err
	}
}

func (f *fixture) wantRows(s said, want ...[]any) {
	f.t.Helper()
	var inside [][]any
	session := f.session(f.store, f.native(s))
	r := session.Transaction(f.ctx, false, func(ctx context.Context, tx store.Transaction) error {
		inside = nil
		_, err := tx.Do(ctx, 0, into(&inside), f.parameters(s)...)
		return err
	})
	if r.Outcome != history.Committed {
		f.t.Errorf("%s: %+v", s.text, r)
	}
	for _, got := range [][][]any{inside, f.rows(f.store.View, s)} {
		if !reflect.DeepEqual(got, want) {
			f.t.Errorf("%s %v gave %#v, want %#v", s.text, s.command, got, want)
		}
	}
}

func wrong() (read, write said) {
	return said{text: "SELECT missing FROM record", reads: true, command: document("aggregate", "record", "pipeline", []any{document("$nonsense", int64(1))}, "cursor", store.Document{})},
		said{text: "INSERT INTO record (id, nothing) VALUES ($1, $2)", with: []any{int64(4), int64(4)},
			command: document("update", "record", "updates", []any{document("q", store.Document{}, "u", document("$nonsense", int64(1)))})}
}

// testAlone: a statement outside of a transaction commits or has no effect. A violated
// constraint differs from other errors, and the session stays usable.
func (f *fixture) testAlone() {
	read, _ := wrong()
	for i, r := range f.replies(f.store, recording(11, "x"), recording(12, "y"), recording(11, "z"), lookup(12), deletingRecord(12), read, recording(13, "x")) {
		failed := i == 2 || i == 5
		if (r.Outcome == history.Failed) != failed || (r.Err != nil) != failed || (r.Class != "") != failed || r.Broken || keyThere(r) != (i == 2) {
			f.t.Errorf("statement %d: %+v", i+1, r)
		}
		if failed {
			f.wantNoSecret("the reply", r.Err.Error())
		}
	}
	for _, id := range []int64{11, 13} {
		f.ledger.record(sentWrite{entry: entry{ID: id}, content: "x", outcome: history.Committed})
	}
}

// testTogether: a transaction that its work leaves has no effect. Errors and violations belong
// to the transaction, changed rows are counted, and the session stays usable.
func (f *fixture) testTogether() {
	_, write := wrong()
	session := f.session(f.store, f.native(recording(0, "")), f.native(updatingRecords(0)), f.native(deletingRecord(0)))
	var changed []int64
	do := func(statement int, all ...said) func(ctx context.Context, tx store.Transaction) error {
		return func(ctx context.Context, tx store.Transaction) error {
			for _, s := range all {
				n, err := tx.Do(ctx, statement, nil, f.parameters(s)...)
				if changed = append(changed, n); err != nil {
					return err
				}
			}
			return nil
		}
	}
	left := session.Transaction(f.ctx, true, func(ctx context.Context, tx store.Transaction) error {
		return errors.Join(do(0, recording(21, "x"))(ctx, tx), store.ErrRollback)
	})
	if left.Outcome != history.Failed || left.Broken || !errors.Is(left.Err, store.ErrRollback) {
		f.t.Errorf("left: %+v; want failed, and a session that is good", left)
	}
	again := session.Transaction(f.ctx, true, do(0, recording(22, "x"), recording(1, "x")))
	if again.Outcome != history.Failed || !keyThere(again) {
		f.t.Errorf("a key that is there: %+v; want failed, refused for it", again)
	}
	if again.Broken {
		session = f.session(f.store, f.native(recording(0, "")), f.native(updatingRecords(0)), f.native(deletingRecord(0)))
	}
	r := session.Transaction(f.ctx, true, func(ctx context.Context, tx store.Transaction) error {
		changed = nil
		return errors.Join(do(0, recording(-5, "x"))(ctx, tx), do(1, updatingRecords(0))(ctx, tx), do(2, deletingRecord(77))(ctx, tx))
	})
	if r.Outcome != history.Committed || !slices.Equal(changed, []int64{1, 1, 0}) {
		f.t.Errorf("a transaction: %+v, it changed %d", r, changed)
	}
	f.ledger.record(sentWrite{entry: entry{ID: -5}, content: "changed", outcome: history.Committed})
	other := f.session(f.store)
	refused := other.Transaction(f.ctx, true, func(ctx context.Context, tx store.Transaction) error {
		n, err := f.learn(ctx, other, write)
		if err == nil {
			err = do(n, write)(ctx, tx)
		}
		return err
	})
	if refused.Outcome != history.Failed || refused.Err == nil {
		f.t.Errorf("a statement that cannot be: %+v; want failed", refused)
	}
}

// testMade: the next run's schema lacks the tables that a user made.
func (f *fixture) testMade() {
	f.must("RecordMade", f.make(f.store,
		said{text: "CREATE TABLE child (id bigint PRIMARY KEY, parent bigint REFERENCES record (id))", command: document("create", "child")},
		said{text: "CREATE VIEW seen AS SELECT id FROM record",
			command: document("createIndexes", "record", "indexes", []any{document("key", document("content", int64(1)), "name", "content_1")})}))
	f.mustCreate(f.store, "run-2")
	if size, _ := f.size(); len(size.Rows) != 1 {
		f.t.Errorf("Size: %+v; want the table of records alone", size)
	}
}
