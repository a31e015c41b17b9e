package script

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"assay/store"
)

// documentMethod is a method of tx for documents; instead is its counterpart in SQL.
func documentMethod(instead string, f func(handle, arguments) (starlark.Value, error)) member[handle] {
	return method(func(h handle, a arguments) (starlark.Value, error) {
		if err := h.program.statements.inLanguage(Documents, "tx."+a.name, instead); err != nil {
			return nil, err
		}
		h.at = int(a.thread.CallFrame(1).Pos.Line)
		return f(h, a)
	})
}

// document is an argument that is a dict or None.
type document struct {
	into *store.Document
	what string // what it is, for an error
}

func (d document) Unpack(v starlark.Value) (err error) {
	*d.into, err = documentOf(v, d.what)
	return err
}

func (h handle) read(c *DocumentCommand) ([]starlark.Value, error) {
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

func (h handle) readAll(c *DocumentCommand) (starlark.Value, error) {
	all, err := h.read(c)
	return starlark.NewList(all), err
}

// write returns how many documents a command changed.
func (h handle) write(c *DocumentCommand) (starlark.Value, error) {
	s, err := h.prepareCommand(c)
	if err != nil {
		return nil, err
	}
	changed, err := h.execute(s)
	return starlark.MakeInt64(changed), err
}

// selection reads the arguments of find and find_one.
func selection(a arguments, more ...any) (*DocumentCommand, error) {
	c := &DocumentCommand{Verb: Find}
	err := a.unpack(append([]any{"collection", &c.Collection, "filter?", document{&c.Filter, "a filter"}, "fields?", document{&c.Fields, "fields"},
		"sort?", document{&c.Sort, "sort"}}, more...)...)
	return c, err
}

func (h handle) find(a arguments) (starlark.Value, error) {
	var limit int64
	c, err := selection(a, "limit?", &limit)
	if err != nil {
		return nil, err
	}
	if c.Limit = limit; limit < 0 {
		return nil, errors.New("limit is 0, for all, or more")
	}
	return h.readAll(c)
}

func (h handle) findOne(a arguments) (starlark.Value, error) {
	c, err := selection(a)
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

func (h handle) aggregate(a arguments) (starlark.Value, error) {
	c, err := aggregation(a)
	if err != nil {
		return nil, err
	}
	return h.readAll(c)
}

func aggregation(a arguments) (*DocumentCommand, error) {
	c := &DocumentCommand{Verb: Aggregate}
	var pipeline starlark.Value
	err := a.unpack("collection", &c.Collection, "pipeline", &pipeline)
	if err == nil {
		c.Pipeline, err = pipelineOf(pipeline)
	}
	return c, err
}

func (h handle) insert(a arguments) (starlark.Value, error) {
	c := &DocumentCommand{Verb: Insert}
	var of starlark.Value
	if err := a.unpack("collection", &c.Collection, "document", &of); err != nil {
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

func (h handle) update(a arguments) (starlark.Value, error) {
	c := &DocumentCommand{Verb: Update}
	var change starlark.Value
	err := a.unpack("collection", &c.Collection, "filter", document{&c.Filter, "a filter"}, "change", &change, "one?", &c.One, "upsert?", &c.Upsert)
	if err == nil {
		c.Change, err = tree(change)
	}
	if err != nil {
		return nil, err
	}
	switch of := c.Change.(type) {
	case []any:
	case store.Document:
		if len(of) == 0 || len(of[0].Name) == 0 || of[0].Name[0] != '$' {
			return nil, errors.New(`a change has operators, such as {"$set": {...}}`)
		}
	default:
		return nil, fmt.Errorf("a change is a dict of operators or a pipeline, not a %s", change.Type())
	}
	return h.write(c)
}

func (h handle) remove(a arguments) (starlark.Value, error) {
	c := &DocumentCommand{Verb: Delete}
	if err := a.unpack("collection", &c.Collection, "filter", document{&c.Filter, "a filter"}, "one?", &c.One); err != nil {
		return nil, err
	}
	return h.write(c)
}
