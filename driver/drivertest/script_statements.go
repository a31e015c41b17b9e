package drivertest

import (
	"context"

	"assay/store"
	"assay/workload/script"
)

// scriptStatements are those of the suite of workload script, in a database's language: on
// a table entry with an id and a content.
type scriptStatements struct {
	create, createChild, createView script.Statement
	insert, update                  func(id int64, content any) script.Statement
	remove, content                 func(id int64) script.Statement
	updateBelow                     func(id int64, content any) script.Statement
	ids                             script.Statement
	// wrong are refused by any database: one that reads and one that writes.
	wrongRead, wrongWrite script.Statement
	// row is a row of entry as Load takes it.
	columns []string
	row     func(id int64, content any) []any
}

// idOf is the id in a row that ids gives.
func idOf(row []any) int64 {
	if d, is := row[0].(store.Document); is {
		return d[0].Value.(int64)
	}
	return row[0].(int64)
}

func statementsIn(l script.Language) scriptStatements {
	if l == script.Documents {
		return documentStatements()
	}
	text := func(text string, parameters ...any) script.Statement {
		return script.Statement{Text: text, Parameters: parameters}
	}
	read := func(of script.Statement) script.Statement {
		of.Reads = true
		return of
	}
	return scriptStatements{
		create:      text("CREATE TABLE entry (id bigint PRIMARY KEY, content varchar(100))"),
		createChild: text("CREATE TABLE child (id bigint PRIMARY KEY, entry bigint REFERENCES entry (id))"),
		createView:  text("CREATE VIEW seen AS SELECT id FROM entry"),
		insert: func(id int64, content any) script.Statement {
			return text("INSERT INTO entry (id, content) VALUES ($1, $2)", id, content)
		},
		update: func(id int64, content any) script.Statement {
			return text("UPDATE entry SET content = $2 WHERE id = $1", id, content)
		},
		updateBelow: func(id int64, content any) script.Statement {
			return text("UPDATE entry SET content = $2 WHERE id < $1", id, content)
		},
		remove:     func(id int64) script.Statement { return text("DELETE FROM entry WHERE id = $1", id) },
		content:    func(id int64) script.Statement { return read(text("SELECT content FROM entry WHERE id = $1", id)) },
		ids:        read(text("SELECT id FROM entry ORDER BY id")),
		wrongRead:  read(text("SELECT missing FROM entry")),
		wrongWrite: text("INSERT INTO entry (id, nothing) VALUES ($1, $2)", int64(4), int64(4)),
		columns:    []string{"id", "content"},
		row:        func(id int64, content any) []any { return []any{id, content} },
	}
}

func documentStatements() scriptStatements {
	on := func(c script.DocumentCommand) script.Statement {
		if c.Collection == "" {
			c.Collection = "entry"
		}
		return script.Statement{Command: &c, Reads: c.Verb == script.Find || c.Verb == script.Aggregate}
	}
	of := func(name string, value any) store.Document { return store.Document{{Name: name, Value: value}} }
	set := func(content any) store.Document { return of("$set", of("content", content)) }
	entry := func(id int64, content any) store.Document {
		return store.Document{{Name: "_id", Value: id}, {Name: "content", Value: content}}
	}
	return scriptStatements{
		create:      on(script.DocumentCommand{Verb: script.CreateCollection}),
		createChild: on(script.DocumentCommand{Verb: script.CreateCollection, Collection: "child"}),
		createView:  on(script.DocumentCommand{Verb: script.CreateIndex, Keys: of("content", int64(1))}),
		insert: func(id int64, content any) script.Statement {
			return on(script.DocumentCommand{Verb: script.Insert, Documents: []store.Document{entry(id, content)}})
		},
		update: func(id int64, content any) script.Statement {
			return on(script.DocumentCommand{Verb: script.Update, Filter: of("_id", id), Change: set(content), One: true})
		},
		updateBelow: func(id int64, content any) script.Statement {
			return on(script.DocumentCommand{Verb: script.Update, Filter: of("_id", of("$lt", id)), Change: []any{set(content)}})
		},
		remove: func(id int64) script.Statement {
			return on(script.DocumentCommand{Verb: script.Delete, Filter: of("_id", id)})
		},
		content: func(id int64) script.Statement {
			return on(script.DocumentCommand{Verb: script.Find, Filter: of("_id", id)})
		},
		ids:        on(script.DocumentCommand{Verb: script.Find, Fields: of("_id", int64(1)), Sort: of("_id", int64(1))}),
		wrongRead:  on(script.DocumentCommand{Verb: script.Aggregate, Pipeline: []any{of("$nonsense", int64(1))}}),
		wrongWrite: on(script.DocumentCommand{Verb: script.Update, Change: of("$nonsense", int64(1))}),
		row:        func(id int64, content any) []any { return []any{entry(id, content)} },
	}
}

// idsIn reads all ids.
func (s *scriptStatements) idsIn(ctx context.Context, q script.Querier) (ids []int64, err error) {
	err = q.Query(ctx, s.ids, func(row []any) error {
		ids = append(ids, idOf(row))
		return nil
	})
	return ids, err
}
