package sqldb

import "assay/store"

// What the contract with workloads says of schemas, statements and answers holds between
// this package and the protocols too.
type (
	Schema    = store.Schema
	Table     = store.Table
	Column    = store.Column
	Type      = store.Type
	Index     = store.Index
	Row       = store.Row
	Rows      = store.Rows
	Call      = store.Call
	Batch     = store.Batch
	Reply     = store.Reply
	Violation = store.Violation
	Value     = store.Value
	Kind      = store.Kind
)

const (
	Integer = store.Integer
	Boolean = store.Boolean
	String  = store.String
	ASCII   = store.ASCII
	UUID    = store.UUID
	Ints    = store.Ints

	Int     = store.Int
	Bool    = store.Bool
	Text    = store.Text
	Bytes   = store.Bytes
	List    = store.List
	Keys    = store.Keys
	Real    = store.Real
	Nothing = store.Nothing

	NoViolation = store.NoViolation
	Unique      = store.Unique
	Check       = store.Floor
	Null        = store.Absent
)

// OfInt, and the functions like it, make a Value.
func OfInt(n int64) Value { return store.OfInt(n) }

func OfBool(b bool) Value       { return store.OfBool(b) }
func OfText(s string) Value     { return store.OfText(s) }
func OfBytes(b []byte) Value    { return store.OfBytes(b) }
func OfList(list []int64) Value { return store.OfList(list) }
func OfKeys(keys []int64) Value { return store.OfKeys(keys) }
