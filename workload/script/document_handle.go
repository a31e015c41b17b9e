package script

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"
)

// documentCall is a call of tx for documents: what it takes, and what it gives.
type documentCall struct {
	// instead is the call to use where the database speaks SQL.
	instead string
	run     func(h *handle, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error)
}

// documentCalls are those of tx, by their names.
func documentCalls() map[string]documentCall {
	return map[string]documentCall{
		"find":      {"tx.query", (*handle).find},
		"find_one":  {"tx.row or tx.value", (*handle).findOne},
		"aggregate": {"tx.query", (*handle).aggregate},
		"insert":    {"tx.exec", (*handle).insert},
		"update":    {"tx.exec", (*handle).update},
		"delete":    {"tx.exec", (*handle).remove},
	}
}

// document is the builtin of a call for documents; nil if there is none of this name.
func (h *handle) document(name string) builtin {
	of, known := documentCalls()[name]
	if !known {
		return nil
	}
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := h.program.statements.inLanguage(Documents, "tx."+name, of.instead); err != nil {
			return nil, err
		}
		return of.run(h, b, args, kwargs)
	}
}

// read runs a command and gives its documents.
func (h *handle) read(c *DocumentCommand) ([]starlark.Value, error) {
	s, err := h.prepareCommand(c)
	if err != nil {
		return nil, err
	}
	rows, err := h.query(s)
	if err != nil {
		return nil, err
	}
	all := make([]starlark.Value, len(rows))
	for i, row := range rows {
		all[i] = valueOf(row[0])
	}
	return all, nil
}

// write runs a command and gives how many documents it has dealt with.
func (h *handle) write(c *DocumentCommand) (starlark.Value, error) {
	s, err := h.prepareCommand(c)
	if err != nil {
		return nil, err
	}
	changed, err := h.execute(s)
	return starlark.MakeInt64(changed), err
}

// selection is what find and find_one take.
func selection(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple, more ...any) (*DocumentCommand, error) {
	c := &DocumentCommand{Verb: Find}
	var filter, fields, sort starlark.Value
	pairs := append([]any{"collection", &c.Collection, "filter?", &filter, "fields?", &fields, "sort?", &sort}, more...)
	err := starlark.UnpackArgs(b.Name(), args, kwargs, pairs...)
	if err == nil {
		c.Filter, err = documentOf(filter, "a filter")
	}
	if err == nil {
		c.Fields, err = documentOf(fields, "fields")
	}
	if err == nil {
		c.Sort, err = documentOf(sort, "sort")
	}
	return c, err
}

func (h *handle) find(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var limit int64
	c, err := selection(b, args, kwargs, "limit?", &limit)
	if err != nil {
		return nil, err
	}
	if c.Limit = limit; limit < 0 {
		return nil, errors.New("limit is 0, for all, or more")
	}
	all, err := h.read(c)
	return starlark.NewList(all), err
}

func (h *handle) findOne(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c, err := selection(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	c.Limit = 1
	all, err := h.read(c)
	if err != nil || len(all) == 0 {
		return starlark.None, err
	}
	return all[0], nil
}

func (h *handle) aggregate(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c, err := aggregation(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	all, err := h.read(c)
	return starlark.NewList(all), err
}

// aggregation takes a collection and a pipeline from the arguments of a call.
func aggregation(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (*DocumentCommand, error) {
	c := &DocumentCommand{Verb: Aggregate}
	var pipeline starlark.Value
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "collection", &c.Collection, "pipeline", &pipeline)
	if err == nil {
		c.Pipeline, err = pipelineOf(pipeline)
	}
	return c, err
}

// insert puts one document into a collection, or several.
func (h *handle) insert(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c := &DocumentCommand{Verb: Insert}
	var of starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "collection", &c.Collection, "document", &of); err != nil {
		return nil, err
	}
	all := []starlark.Value{of}
	if list, is := of.(*starlark.List); is {
		all = nil
		for v := range starlark.Elements(list) {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return nil, errors.New("there is no document to insert")
	}
	for _, v := range all {
		d, err := identified(v)
		if err != nil {
			return nil, err
		}
		c.Documents = append(c.Documents, d)
	}
	return h.write(c)
}

func (h *handle) update(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c := &DocumentCommand{Verb: Update}
	var filter, change starlark.Value
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "collection", &c.Collection, "filter", &filter, "change", &change, "one?", &c.One, "upsert?", &c.Upsert)
	if err == nil {
		c.Filter, err = documentOf(filter, "a filter")
	}
	if err == nil {
		c.Change, err = tree(change)
	}
	if err != nil {
		return nil, err
	}
	switch of := c.Change.(type) {
	case []any:
	case Document:
		if len(of) == 0 || len(of[0].Name) == 0 || of[0].Name[0] != '$' {
			return nil, errors.New(`a change has operators, such as {"$set": {...}}`)
		}
	default:
		return nil, fmt.Errorf("a change is a dict of operators or a pipeline, not a %s", change.Type())
	}
	return h.write(c)
}

// remove deletes documents.
func (h *handle) remove(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c := &DocumentCommand{Verb: Delete}
	var filter starlark.Value
	err := starlark.UnpackArgs(b.Name(), args, kwargs, "collection", &c.Collection, "filter", &filter, "one?", &c.One)
	if err == nil {
		c.Filter, err = documentOf(filter, "a filter")
	}
	if err != nil {
		return nil, err
	}
	return h.write(c)
}
