package script

import (
	"fmt"
	"slices"
	"strings"

	"assay/store"
	"assay/workload/script/access"
)

// shape is the command without its values, equal for all calls of one place.
func (c *DocumentCommand) shape() string {
	text := c.Verb.String() + " " + c.Collection
	if c.Filter != nil {
		text += " " + shapeOf(c.Filter)
	}
	if c.Change != nil {
		text += " " + shapeOf(c.Change)
	}
	if c.Pipeline != nil {
		text += " " + shapeOf(c.Pipeline)
	}
	return text
}

func shapeOf(v any) string {
	var parts []string
	switch v := v.(type) {
	case store.Document:
		for _, f := range v {
			parts = append(parts, f.Name+": "+shapeOf(f.Value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, element := range v {
			parts = append(parts, shapeOf(element))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "?"
}

// accesses are what a command reads and writes. Columns are top-level fields.
func (c *DocumentCommand) accesses() (all []access.Access, known bool) {
	a := access.Access{Table: c.Collection, Verb: access.Read}
	switch c.Verb {
	case Find:
		a.Key, a.Condition = keyOfFilter(c.Filter)
		a.Fixed = fixedFields(c.Filter)
		a.Reads = []string{access.All}
		if len(c.Fields) > 0 {
			a.Reads = append(fieldNames(c.Fields), fieldNames(c.Sort)...)
		}
	case Insert:
		a.Verb, a.Locks, a.Writes = access.Insert, true, []string{access.All}
		if len(c.Documents) == 1 {
			a.Key, _ = keyOfFilter(c.Documents[0])
			a.Fixed = fixedFields(c.Documents[0])
		}
	case Update:
		a.Verb, a.Locks = access.Update, true
		a.Key, a.Condition = keyOfFilter(c.Filter)
		a.Adds = adds(c.Change)
		if a.Writes, a.Reads = changed(c.Change); c.Upsert {
			a.Key, a.Writes, a.Reads = nil, []string{access.All}, []string{access.All}
		}
	case Delete:
		a.Verb, a.Locks, a.Writes = access.Delete, true, []string{access.All}
		a.Key, a.Condition = keyOfFilter(c.Filter)
	case Aggregate:
		a.Condition, a.Reads = []string{access.All}, []string{access.All}
		for _, other := range joined(c.Pipeline) {
			all = append(all, access.Access{Table: other, Verb: access.Read, Condition: []string{access.All}})
		}
	default:
		return nil, false
	}
	return append(all, a), true
}

// joined are the collections that $lookup and its like name.
func joined(v any) (all []string) {
	switch v := v.(type) {
	case store.Document:
		for _, f := range v {
			if name, is := f.Value.(string); is && (f.Name == "from" || f.Name == "coll" || f.Name == "$unionWith") {
				all = append(all, name)
			}
			all = append(all, joined(f.Value)...)
		}
	case []any:
		for _, element := range v {
			all = append(all, joined(element)...)
		}
	}
	return all
}

func fieldNames(d store.Document) (names []string) {
	for _, f := range d {
		name, _, _ := strings.Cut(f.Name, ".")
		names = append(names, name)
	}
	return names
}

// keyOfFilter splits a filter into the value of _id and the other fields.
func keyOfFilter(filter store.Document) (key []access.Word, rest []string) {
	for _, f := range filter {
		switch f.Value.(type) {
		case store.Document, []any:
		default:
			if f.Name == "_id" && key == nil {
				key = []access.Word{{Kind: access.Literal, Text: fmt.Sprint(f.Value)}}
				continue
			}
		}
		if strings.HasPrefix(f.Name, "$") { // $or, $expr
			return nil, []string{access.All}
		}
		name, _, _ := strings.Cut(f.Name, ".")
		rest = append(rest, name)
	}
	return key, rest
}

// fixedFields are the fields with one plain value.
func fixedFields(of store.Document) map[string]access.Word {
	fixed := map[string]access.Word{}
	for _, f := range of {
		switch f.Value.(type) {
		case store.Document, []any, nil:
		default:
			fixed[f.Name] = access.Word{Kind: access.Literal, Text: fmt.Sprint(f.Value)}
		}
	}
	return fixed
}

// adds reports whether a change computes everything from the present values.
func adds(change any) bool {
	d, is := change.(store.Document)
	return is && !slices.ContainsFunc(d, func(f store.Field) bool { return f.Name != "$inc" && f.Name != "$mul" })
}

// changed are the fields that operators write and read.
func changed(change any) (writes, reads []string) {
	d, is := change.(store.Document)
	if !is {
		return []string{access.All}, []string{access.All}
	}
	for _, f := range d {
		fields, is := f.Value.(store.Document)
		if !is || !strings.HasPrefix(f.Name, "$") || f.Name == "$rename" {
			return []string{access.All}, []string{access.All}
		}
		writes = append(writes, fieldNames(fields)...)
		if f.Name != "$set" && f.Name != "$unset" {
			reads = append(reads, fieldNames(fields)...)
		}
	}
	return writes, reads
}
