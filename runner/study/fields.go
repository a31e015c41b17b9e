package study

import (
	"slices"

	"github.com/google/jsonschema-go/jsonschema"

	"assay/internal/yamlfile"
)

// field is a key of a mapping: the schema of its value, and how to read it. The schema for editors
// thus matches what is read.
type field struct {
	key    string
	schema *jsonschema.Schema
	read   func(pair) error
}

func textInto(into *string, key, about string) field {
	return field{key, text(about), func(p pair) (err error) { *into, err = word(p); return err }}
}

func textsInto(into *[]string, key, about string) field {
	return field{key, texts(about), func(p pair) (err error) { *into, err = listed(p); return err }}
}

// shownInto is of texts that hold values of axes.
func shownInto(into *[]string, key, about string) field {
	return field{key, texts(about), func(p pair) error {
		all, err := listed(p)
		for _, text := range all {
			*into = append(*into, shownIn(text))
		}
		return err
	}}
}

// later is the field of a value that is read after all others.
func later(into *node, key string, schema *jsonschema.Schema) field {
	return field{key, schema, func(p pair) error { *into = p.value; return nil }}
}

// read reads a mapping of these fields. what and want are for errors.
func (n node) read(what, want string, all []field) error {
	if err := wantMapping(n, what, want); err != nil {
		return err
	}
	for _, p := range n.pairs {
		f := fieldOf(all, p.key)
		if f == nil {
			return unknown(p, what, keysOf(all))
		}
		if err := f.read(p); err != nil {
			return err
		}
	}
	return nil
}

// each reads a list of mappings, which may be missing.
func (n node) each(key, want string, read func(node) error) error {
	if n.at == (yamlfile.Position{}) {
		return nil
	}
	if !n.list {
		return problem(n.at, "%s must be a list%s", key, want)
	}
	for _, item := range n.items {
		if err := read(item); err != nil {
			return err
		}
	}
	return nil
}

func fieldOf(all []field, key string) *field {
	at := slices.IndexFunc(all, func(f field) bool { return f.key == key })
	if at < 0 {
		return nil
	}
	return &all[at]
}

func keysOf(all []field) (keys []string) {
	for _, f := range all {
		keys = append(keys, f.key)
	}
	return keys
}

func schemasOf(all []field) map[string]*jsonschema.Schema {
	schemas := map[string]*jsonschema.Schema{}
	for _, f := range all {
		schemas[f.key] = f.schema
	}
	return schemas
}

func schemaOf(all []field, required ...string) *jsonschema.Schema {
	s := closed(schemasOf(all))
	s.Required = required
	return s
}
