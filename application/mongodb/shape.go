package mongodb

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"assay/application/wire"
)

// maxShape bounds a statement's text.
const maxShape = 4096

// statement is a command without its values and without what every command may have.
func (c *command) statement(lists []list) *wire.Statement {
	s := &wire.Statement{Settings: c.concern()}
	switch c.name {
	case "commitTransaction":
		s.Shape, s.Kind = c.name, wire.Commit
		return s
	case abort:
		s.Shape, s.Kind = c.name, wire.Rollback
		return s
	}
	w := writer{}
	eachElement(c.body, func(key string, v bsoncore.Value) {
		switch {
		case key == c.name:
			w.out = append(w.out, c.name...)
			if collection, is := v.StringValueOK(); is {
				w.out = append(w.out, " "+c.database+"."+collection...)
			}
		case !common(key):
			w.name(key)
			w.value(v)
			if c.name == "insert" && key == "documents" {
				s.Inserted = c.inserted(elements(v))
			}
		}
	})
	for _, l := range lists {
		w.name(l.name)
		w.list(documents(l.documents))
		if c.name == "insert" {
			s.Inserted = c.inserted(documents(l.documents))
		}
	}
	s.Shape, s.Values = string(w.out), w.values.All()
	s.Adds = writes(s.Shape) && (c.name == "insert" || slices.ContainsFunc(adding(), func(o string) bool { return strings.Contains(s.Shape, o) }) || c.grows(lists))
	return s
}

// concern is the write concern that a command asks for, by the names of the driver's settings.
func (c *command) concern() map[string]string {
	asked, is := c.body.Lookup("writeConcern").DocumentOK()
	if !is {
		return nil
	}
	settings := map[string]string{}
	eachElement(asked, func(key string, v bsoncore.Value) {
		if name := map[string]string{"w": "write concern", "j": "journal asked for"}[key]; name != "" {
			settings[name] = text(v)
		}
	})
	return settings
}

// inserted are the documents that a command inserts, as Server.Count takes them; none if one has
// no identity yet, or there are more than are kept.
func (c *command) inserted(documents values) (all []string) {
	collection, _ := c.body.Lookup(c.name).StringValueOK()
	known := true
	documents(func(v bsoncore.Value) {
		d, _ := v.DocumentOK()
		id, err := d.LookupErr(identity)
		if known = known && err == nil && len(all) < wire.MaxValues && len(id.Data) < maxShape; known {
			all = append(all, c.database+"."+collection+"\x00"+string(bsoncore.NewDocumentBuilder().AppendValue(identity, id).Build()))
		}
	})
	if !known {
		return nil
	}
	return all
}

// identity is what each document is found by.
const identity = "_id"

// common reports whether a field says how a command is carried out, and not what it does.
func common(key string) bool {
	switch key {
	case "lsid", "txnNumber", "autocommit", "startTransaction", "readConcern", "writeConcern", "ordered", "maxTimeMS", "stmtId", "stmtIds",
		"apiVersion", "apiStrict", "apiDeprecationErrors", "comment", "recoveryToken", "cursor":
		return true
	}
	return strings.HasPrefix(key, "$")
}

// writer writes a shape.
type writer struct {
	out    []byte
	values wire.Values
}

func (w *writer) name(key string) {
	w.out = append(append(append(w.out, ' '), key...), ": "...)
}

// full is true if no more is kept.
func (w *writer) full() bool { return w.values.Full() || len(w.out) >= maxShape }

func (w *writer) value(v bsoncore.Value) {
	switch v.Type {
	case bsoncore.TypeEmbeddedDocument:
		w.document(v.Data)
	case bsoncore.TypeArray:
		w.list(elements(v))
	case bsoncore.TypeBoolean, bsoncore.TypeNull:
		w.out = append(w.out, v.String()...)
	default:
		w.out = append(w.out, '?')
		if w.full() {
			w.values.More(string(v.Data))
		} else {
			w.values.Add(text(v))
		}
	}
}

func (w *writer) document(d []byte) {
	w.out = append(w.out, '{')
	begin := len(w.out)
	eachElement(d, func(key string, v bsoncore.Value) {
		if w.full() {
			w.values.More(key + string(v.Data))
			return
		}
		if len(w.out) > begin {
			w.out = append(w.out, ", "...)
		}
		w.out = append(append(w.out, key...), ": "...)
		w.value(v)
	})
	w.out = append(w.out, '}')
}

// values goes over several.
type values func(visit func(bsoncore.Value))

// documents are a list of them as it is sent beside a command, and elements are an array's.
func documents(b []byte) values {
	return func(visit func(bsoncore.Value)) {
		for rest := b; len(rest) > 0; {
			d, more, ok := bsoncore.ReadDocument(rest)
			if !ok {
				return
			}
			visit(bsoncore.Value{Type: bsoncore.TypeEmbeddedDocument, Data: d})
			rest = more
		}
	}
}

func elements(array bsoncore.Value) values {
	return func(visit func(bsoncore.Value)) {
		eachElement(array.Data, func(_ string, v bsoncore.Value) { visit(v) })
	}
}

// list writes what comes several times in a row once.
func (w *writer) list(all values) {
	w.out = append(w.out, '[')
	var last []byte
	first, again := true, false
	all(func(v bsoncore.Value) {
		begin := len(w.out)
		if w.full() {
			w.values.More(string(v.Data))
			return
		}
		w.value(v)
		one := bytes.Clone(w.out[begin:])
		w.out = w.out[:begin]
		switch {
		case !first && bytes.Equal(one, last):
			if !again {
				w.out = append(w.out, " ..."...)
			}
			again = true
			return
		case !first:
			w.out = append(w.out, ", "...)
		}
		w.out, last, first, again = append(w.out, one...), one, false, false
	})
	w.out = append(w.out, ']')
}

// text is a value as people write it, of a bounded length.
func text(v bsoncore.Value) string {
	if s, is := v.StringValueOK(); is {
		return wire.Text([]byte(s))
	}
	if id, is := v.ObjectIDOK(); is {
		return hex.EncodeToString(id[:])
	}
	if n, is := v.Int32OK(); is {
		return strconv.Itoa(int(n))
	}
	if n, is := v.Int64OK(); is {
		return strconv.FormatInt(n, 10)
	}
	return wire.Shortened(v.String())
}
