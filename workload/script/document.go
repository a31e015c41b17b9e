package script

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"assay/store"
)

// Language is the language of a database's statements.
type Language uint8

const (
	SQL Language = iota + 1
	// Documents means commands on collections of documents.
	Documents
)

// columnsOf are a document's values as a row, without the null _id of a group of all documents.
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
	// CreateCollection and CreateIndex are for setup alone.
	CreateCollection
	CreateIndex
)

func (v Verb) String() string {
	return [...]string{Find: "find", Aggregate: "aggregate", Insert: "insert", Update: "update", Delete: "delete",
		CreateCollection: "create", CreateIndex: "index"}[v]
}

// DocumentCommand is a statement on a collection.
type DocumentCommand struct {
	Verb Verb
	// Collection is of the schema or, if permitted, DATABASE.COLLECTION.
	Collection string
	// Filter selects documents.
	Filter store.Document
	// Fields, Sort and Limit are Find's; nil or 0 means all.
	Fields, Sort store.Document
	Limit        int64
	Documents    []store.Document
	// Change is Update's: a Document, or []any for a pipeline.
	Change any
	// One stops Update and Delete after one document. Upsert makes a missing document.
	One, Upsert bool
	// Pipeline is Aggregate's.
	Pipeline []any
	// Keys are an index's fields with their directions.
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

// document is the command as MongoDB takes it (MongoDB manual, "Database Commands").
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

func documentWith(fields ...any) (d store.Document) {
	for i := 0; i < len(fields); i += 2 {
		d = append(d, store.Field{Name: fields[i].(string), Value: fields[i+1]})
	}
	return d
}

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

// maxNesting bounds the depth of a document; MongoDB takes 100.
const maxNesting = 100

// tree converts a Starlark value: a dict to a Document, a list or tuple to an array.
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

// documentOf converts a dict; nil for None.
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

// pipelineOf converts a list of dicts.
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
