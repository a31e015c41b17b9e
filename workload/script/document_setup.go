package script

import (
	"errors"
	"fmt"

	"go.starlark.net/starlark"

	"assay/store"
)

func (s *setup) collection(a arguments) (starlark.Value, error) {
	var name string
	if err := a.unpack("collection", &name); err != nil {
		return nil, err
	}
	if err := s.program.statements.inLanguage(Documents, "db.create", `db.exec("CREATE TABLE ...")`); err != nil {
		return nil, err
	}
	return starlark.None, s.create(name)
}

func (s *setup) create(name string) error {
	if err := collectionName(name); err != nil || s.made[name] {
		return err
	}
	s.made[name] = true
	return s.execute(Statement{Command: &DocumentCommand{Verb: CreateCollection, Collection: name}})
}

func (s *setup) index(a arguments) (starlark.Value, error) {
	c := &DocumentCommand{Verb: CreateIndex}
	if err := a.unpack("collection", &c.Collection, "keys", document{&c.Keys, "keys"}, "unique?", &c.Unique); err != nil {
		return nil, err
	}
	if err := s.program.statements.inLanguage(Documents, "db.index", `db.exec("CREATE INDEX ...")`); err != nil {
		return nil, err
	}
	switch {
	case len(c.Keys) == 0:
		return nil, errors.New(`an index has keys, such as {"owner": 1}`)
	case !s.made[c.Collection]:
		return nil, fmt.Errorf("setup has made no collection %s; write db.create(%q) before", c.Collection, c.Collection)
	}
	if err := s.program.statements.onShards(c); err != nil {
		return nil, err
	}
	return starlark.None, s.execute(Statement{Command: c})
}

func (s *setup) documents(l tableLoad, from rowSource) error {
	if err := s.program.statements.inLanguage(Documents, "db.insert without columns", "db.insert(table, columns = [...], rows = [...])"); err != nil {
		return err
	}
	err := from.into(&l, "give either documents, or count and document, a function from 0 to count - 1 to a document",
		func(v starlark.Value) ([]any, error) {
			of, err := identified(v)
			return []any{of}, err
		})
	if err == nil {
		err = s.create(l.table)
	}
	if err != nil {
		return err
	}
	return s.insert(l)
}

// identified converts a dict with an _id: the library would make another one in each attempt.
func identified(v starlark.Value) (store.Document, error) {
	of, err := documentOf(v, "a document")
	if err == nil && of.Value("_id") == nil {
		err = errors.New(`a document has an "_id", such as r.id()`)
	}
	return of, err
}
