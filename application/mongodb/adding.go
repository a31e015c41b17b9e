package mongodb

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// adding are the parts of updates that change something each time, as shapes have them.
func adding() []string { return []string{"$inc:", "$mul:", "$push:", "{insert:"} }

// operators of expressions give another value each time where one operand is the field itself.
func operators() []string {
	return []string{"$add", "$subtract", "$multiply", "$concat", "$concatArrays"}
}

// conditions are operators whose values only choose between others: none of their operands is written.
func conditions() []string {
	return []string{"$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$cmp", "$in"}
}

// grows reports whether a command has a pipeline that computes a field from itself by an operator that gives
// another value each time. What is computed from other fields is the same again, and so is a condition.
func (c *command) grows(lists []list) (grows bool) {
	pipeline := func(v bsoncore.Value) {
		if v.Type == bsoncore.TypeArray {
			elements(v)(func(stage bsoncore.Value) { grows = grows || stageGrows(stage) })
		}
	}
	update := func(v bsoncore.Value) {
		d, _ := v.DocumentOK()
		eachElement(d, func(key string, v bsoncore.Value) {
			if key == "u" || key == "updateMods" {
				pipeline(v)
			}
		})
	}
	eachElement(c.body, func(key string, v bsoncore.Value) {
		switch {
		case key == "update": // of findAndModify
			pipeline(v)
		case (key == "updates" || key == "ops") && v.Type == bsoncore.TypeArray:
			elements(v)(update)
		}
	})
	for _, l := range lists {
		documents(l.documents)(update)
	}
	return grows
}

// stageGrows is command.grows of one stage (manual 8.0, "Updates with Aggregation Pipeline").
func stageGrows(stage bsoncore.Value) (grows bool) {
	d, _ := stage.DocumentOK()
	eachElement(d, func(name string, v bsoncore.Value) {
		switch name {
		case "$replaceRoot":
			d, _ := v.DocumentOK()
			v = d.Lookup("newRoot")
			fallthrough
		case "$set", "$addFields", "$replaceWith":
			grows = grows || fieldGrows("", v, false)
		}
	})
	return grows
}

// fieldGrows is stageGrows of one field, or of what is below it. own is true if an expression around it reads
// the field, so that its variables may have it.
func fieldGrows(path string, v bsoncore.Value, own bool) (grows bool) {
	switch v.Type {
	case bsoncore.TypeArray:
		elements(v)(func(v bsoncore.Value) { grows = grows || fieldGrows(path, v, own) })
	case bsoncore.TypeEmbeddedDocument:
		eachElement(v.Data, func(key string, v bsoncore.Value) {
			switch {
			case grows || key == literal || slices.Contains(conditions(), key):
			case strings.HasPrefix(key, "$"):
				grows = slices.Contains(operators(), key) && reads(path, v, own) || fieldGrows(path, v, own)
			default:
				below := strings.TrimPrefix(path+"."+key, ".")
				grows = fieldGrows(below, v, own || reads(below, v, false))
			}
		})
	}
	return grows
}

// literal is the operator whose operand is no expression.
const literal = "$literal"

// reads reports whether an expression has the field, or with variables one of the user's that may have it.
func reads(path string, v bsoncore.Value, variables bool) (is bool) {
	switch v.Type {
	case bsoncore.TypeArray:
		elements(v)(func(v bsoncore.Value) { is = is || reads(path, v, variables) })
	case bsoncore.TypeEmbeddedDocument:
		eachElement(v.Data, func(key string, v bsoncore.Value) { is = is || key != literal && reads(path, v, variables) })
	case bsoncore.TypeString:
		text, _ := v.StringValueOK()
		name, found := strings.CutPrefix(text, "$")
		if !found {
			return false
		}
		if variable, is := strings.CutPrefix(name, "$"); is {
			of, rest, _ := strings.Cut(variable, ".")
			switch {
			case of == "ROOT" || of == "CURRENT":
				name = rest
			case of == "" || of[0] >= 'A' && of[0] <= 'Z': // the server's own
				return false
			default:
				return variables && (rest == "" || strings.HasSuffix("."+path, "."+rest))
			}
		}
		return name != "" && strings.HasPrefix(path+".", name+".")
	}
	return is
}
