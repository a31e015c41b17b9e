package script

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"assay/store"
)

// Language is what the statements of a database are written in.
type Language uint8

const (
	SQL Language = iota + 1
	// Documents: commands on the documents of collections.
	Documents
)

// columnsOf are the values of a document as those of a row. The _id of a group of all
// documents is none.
func columnsOf(d store.Document) (row []any) {
	for _, f := range d {
		switch f.Value.(type) {
		case store.Document, []any:
			row = append(row, show(f.Value))
		default:
			if f.Name != "_id" || f.Value != nil {
				row = append(row, f.Value)
			}
		}
	}
	return row
}

// Verb is what a DocumentCommand does.
type Verb uint8

const (
	Find Verb = iota + 1
	Aggregate
	Insert
	Update
	Delete
	// CreateCollection and CreateIndex are not used in transactions.
	CreateCollection
	CreateIndex
)

func (v Verb) String() string {
	return [...]string{Find: "find", Aggregate: "aggregate", Insert: "insert", Update: "update", Delete: "delete",
		CreateCollection: "create", CreateIndex: "index"}[v]
}

// DocumentCommand is a statement on the documents of a collection.
type DocumentCommand struct {
	Verb Verb
	// Collection is a collection of the schema or, where that is allowed, one of another
	// database as DATABASE.COLLECTION.
	Collection string
	// Filter selects what is found, updated or deleted.
	Filter store.Document
	// Fields, Sort and Limit are of Find: nil and 0 for all of each document, no order and
	// all documents.
	Fields, Sort store.Document
	Limit        int64
	// Documents are inserted.
	Documents []store.Document
	// Change is how Update changes documents: a Document, or []any for a pipeline.
	Change any
	// One has Update and Delete stop at the first document; Upsert has Update make one
	// where the filter selects none.
	One, Upsert bool
	// Pipeline is of Aggregate.
	Pipeline []any
	// Keys are the fields of an index, and their directions.
	Keys   store.Document
	Unique bool
}

func (c *DocumentCommand) reads() bool { return c.Verb == Find || c.Verb == Aggregate }

// String is the command for people.
func (c *DocumentCommand) String() string {
	text := c.Verb.String() + " " + c.Collection
	switch c.Verb {
	case Aggregate:
		text += " " + show(c.Pipeline)
	case Insert:
		for _, d := range c.Documents {
			text += " " + show(d)
		}
	case Find, Update, Delete:
		text += " " + show(c.Filter)
		if c.Change != nil {
			text += " " + show(c.Change)
		}
	}
	return text
}

// document is the command as MongoDB has it (MongoDB manual, "Database Commands").
func (c *DocumentCommand) document() store.Document {
	d := documentWith(c.Verb.String(), c.Collection)
	add := func(name string, value any) { d = append(d, store.Field{Name: name, Value: value}) }
	switch c.Verb {
	case Find:
		add("filter", c.Filter)
		if c.Fields != nil {
			add("projection", c.Fields)
		}
		if c.Sort != nil {
			add("sort", c.Sort)
		}
		add("limit", c.Limit)
	case Aggregate:
		add("pipeline", c.Pipeline)
		add("cursor", store.Document{})
	case Insert:
		var all []any
		for _, d := range c.Documents {
			all = append(all, d)
		}
		add("documents", all)
	case Update:
		add("updates", []any{documentWith("q", c.Filter, "u", c.Change, "multi", !c.One, "upsert", c.Upsert)})
	case Delete:
		limit := int64(0)
		if c.One {
			limit = 1
		}
		add("deletes", []any{documentWith("q", c.Filter, "limit", limit)})
	case CreateIndex:
		var names []string
		for _, key := range c.Keys {
			names = append(names, fmt.Sprintf("%s_%v", key.Name, key.Value))
		}
		d[0].Name = "createIndexes"
		add("indexes", []any{documentWith("key", c.Keys, "name", strings.Join(names, "_"), "unique", c.Unique)})
	}
	return d
}

// documentWith is a document of these names and values.
func documentWith(fields ...any) (d store.Document) {
	for i := 0; i < len(fields); i += 2 {
		d = append(d, store.Field{Name: fields[i].(string), Value: fields[i+1]})
	}
	return d
}

// showTree is a document or an array for people.
func showTree(v any) string {
	var texts []string
	if elements, is := v.([]any); is {
		for _, element := range elements {
			texts = append(texts, show(element))
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	for _, f := range v.(store.Document) {
		texts = append(texts, strconv.Quote(f.Name)+": "+show(f.Value))
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// maxNesting bounds how deep a document is nested; MongoDB takes 100.
const maxNesting = 100

// tree is a Starlark value as one of documents: a dict is a Document, a list or tuple an
// array.
func tree(v starlark.Value) (any, error) { return treeAt(v, 0) }

func treeAt(v starlark.Value, depth int) (any, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("a document is nested deeper than %d", maxNesting)
	}
	switch v := v.(type) {
	case *starlark.Dict:
		d := make(store.Document, 0, v.Len())
		for _, item := range v.Items() {
			name, is := starlark.AsString(item[0])
			if !is {
				return nil, fmt.Errorf("a field's name is a string, not a %s", item[0].Type())
			}
			value, err := treeAt(item[1], depth+1)
			if err != nil {
				return nil, fmt.Errorf("field %q: %w", name, err)
			}
			d = append(d, store.Field{Name: name, Value: value})
		}
		return d, nil
	case *starlark.List, starlark.Tuple:
		list := v.(starlark.Indexable)
		all := make([]any, list.Len())
		for i := range all {
			element, err := treeAt(list.Index(i), depth+1)
			if err != nil {
				return nil, err
			}
			all[i] = element
		}
		return all, nil
	}
	return plain(v)
}

// documentOf is a dict as a document; an empty one for nil.
func documentOf(v starlark.Value, what string) (store.Document, error) {
	if v == nil || v == starlark.None {
		return nil, nil
	}
	dict, is := v.(*starlark.Dict)
	if !is {
		return nil, fmt.Errorf("%s is a dict, not a %s", what, v.Type())
	}
	of, err := tree(dict)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return of.(store.Document), nil
}

// pipelineOf is a list of dicts as the stages of an aggregation.
func pipelineOf(v starlark.Value) ([]any, error) {
	list, is := v.(*starlark.List)
	if !is {
		return nil, fmt.Errorf("a pipeline is a list of dicts, not a %s", v.Type())
	}
	of, err := tree(list)
	if err != nil {
		return nil, fmt.Errorf("the pipeline: %w", err)
	}
	return of.([]any), nil
}
