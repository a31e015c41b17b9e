package drivertest

import (
	"slices"

	"assay/store"
)

// accounts are loaded, each with opening.
const (
	accounts = 4
	opening  = 1_000_000
)

// entry is a transfer with the versions that it gave both accounts.
type (
	account struct{ ID, Balance, Version int64 }
	entry   struct {
		ID, Source, Destination, Amount   int64
		SourceVersion, DestinationVersion int64
	}
)

func accountColumns() store.Columns[account] {
	return store.Columns[account]{
		Names:  []string{"id", "balance", "version"},
		Fields: func(a *account) []any { return []any{&a.ID, &a.Balance, &a.Version} },
	}
}

func entryColumns() store.Columns[entry] {
	return store.Columns[entry]{
		Names: []string{"id", "source", "destination", "amount", "source_version", "destination_version"},
		Fields: func(e *entry) []any {
			return []any{&e.ID, &e.Source, &e.Destination, &e.Amount, &e.SourceVersion, &e.DestinationVersion}
		},
	}
}

// conformanceSchema has a table for each capability that is not lacking.
func conformanceSchema(lacks store.Lacks) store.Schema {
	s := store.Schema{Workload: Conformance, Transactions: lacks[store.Transactions] == "", Judged: true, Tables: []store.Table{{
		Name: "goods", KeyColumns: 2,
		Columns: append(store.Integers("shop", "item", "price"),
			store.Column{Name: "name", Type: store.String, Length: 100}, store.Column{Name: "sold", Type: store.Boolean}),
	}, {
		Name: "typed", Columns: []store.Column{{Name: "id"}, {Name: "small", Narrow: true}, {Name: "yes", Type: store.Boolean},
			{Name: "content", Type: store.String, Length: 200}, {Name: "code", Type: store.ASCII, Length: 60}},
	}, {
		Name: "worded", Columns: []store.Column{{Name: "word", Type: store.ASCII, Length: 40}, {Name: "n"}},
	}, {
		Name: "titled", Columns: []store.Column{{Name: "title", Type: store.String, Length: 40}, {Name: "n"}},
	}, {
		Name: "tagged", Columns: []store.Column{{Name: "tag", Type: store.UUID}, {Name: "n"}},
	}}}
	add := func(needs store.Capability, tables ...store.Table) {
		if lacks[needs] == "" {
			s.Tables = append(s.Tables, tables...)
		}
	}
	if lacks[store.Indexes] == "" && s.Transactions { // without, rows with indexes are not changed
		s.Tables[0].Indexes = []store.Index{{Name: "goods_price", Columns: []string{"shop", "price"}}}
	}
	add(store.Indexes, store.Table{Name: "event", Columns: store.Integers("id", "moment"),
		Indexes: []store.Index{{Name: "event_moment", Columns: []string{"moment"}, Bucket: store.Bucket{Name: "part", Size: 10}}}})
	entries := store.Integers(entryColumns().Names...)
	entries[4].Derived, entries[5].Derived = true, true
	add(store.Transactions, store.Table{
		Name: "account", Columns: store.Integers(accountColumns().Names...), Loaded: true, LateKey: true, Updated: true,
		Floors: []store.Minimum{{Name: "account_balance", Column: "balance"}},
	}, store.Table{Name: "entry", Columns: entries})
	add(store.Lists, store.Table{Name: "listed", Columns: []store.Column{{Name: "id"}, {Name: "elements", Type: store.Ints}}})
	add(store.SecondaryUnique, store.Table{Name: "member", Columns: store.Integers("id", "badge"),
		Indexes: []store.Index{{Name: "member_badge", Columns: []string{"badge"}, Unique: true}}})
	add(store.Documents, store.Table{Name: "crate", Columns: store.Integers("shop", "crate", "weight"), KeyColumns: 2},
		store.Table{Name: "part", Columns: store.Integers("shop", "crate", "part", "weight"), KeyColumns: 3, Within: "crate"})
	return s
}

func recordsSchema() store.Schema {
	return store.Schema{Workload: ConformanceRecords, Reads: true, Durable: true, Tables: []store.Table{{
		Name: "record", Columns: []store.Column{{Name: "id"}, {Name: "content", Type: store.String, Length: 40}},
	}}}
}

type record struct {
	ID      int64
	Content string
}

func recordColumns() store.Columns[record] {
	return store.Columns[record]{Names: []string{"id", "content"}, Fields: func(r *record) []any { return []any{&r.ID, &r.Content} }}
}

func byKey(t *store.Table) []store.Condition { return store.Where(slices.Clone(t.Key())...) }
