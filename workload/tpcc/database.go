package tpcc

import (
	"context"

	"assay/store"
)

// Schema returns the tables of clause 1.3 and table delivery. A unique operation keeps orders,
// payments and deliveries from being done twice. Keys and indexes come after loading.
func Schema(target store.Target) (store.Schema, error) {
	of := store.Schema{Workload: Name, Transactions: true, Judged: true}
	for _, t := range tables() {
		of.Tables = append(of.Tables, t.schema())
	}
	of.Tables[tableCustomer].Indexes = []store.Index{{Name: "customer_name", Columns: []string{"c_w_id", "c_d_id", "c_last", "c_first"}, Late: true}}
	of.Tables[tableHistory].Grows = true
	of.Tables[tableOrders].Indexes = []store.Index{
		{Name: "orders_operation", Columns: []string{"o_operation"}, Late: true, Unique: true},
		{Name: "orders_customer", Columns: []string{"o_w_id", "o_d_id", "o_c_id", "o_id"}, Late: true},
	}
	if target.Schema == SchemaDenormalized {
		of.Tables[tableOrderLine].Within = of.Tables[tableOrders].Name
	}
	of.Tables[tableDelivery].LateKey = false
	for _, t := range []int{tableWarehouse, tableDistrict, tableCustomer, tableStock} {
		of.Tables[t].Updated = true
	}
	return of, nil
}

// refuse is a Workload.Refuse: a database without documents has only SchemaNormalized.
func refuse(target store.Target, lacks store.Lacks) error {
	if why := lacks[store.Documents]; why != "" && target.Schema == SchemaDenormalized {
		return &store.OptionError{Option: "--schema", Value: target.Schema, Reason: why,
			Want: SchemaNormalized + "; " + SchemaDenormalized + " is a form of documents, for MongoDB"}
	}
	return nil
}

// rows are rows by table.
type rows [tableDelivery + 1][]row

func (r *rows) add(one row) { r[one.table()] = append(r[one.table()], one) }

func loadRows(ctx context.Context, db store.Database, all *rows) error {
	for number, t := range tables() {
		of := all[number]
		if len(of) == 0 {
			continue
		}
		err := db.Load(ctx, store.Rows{Table: t.name, Columns: t.columns, Count: len(of),
			Row: func(i int, into []store.Value) []store.Value { return store.AppendFields(into, of[i].fields()) }})
		if err != nil {
			return err
		}
	}
	return nil
}

// readRows gives all rows in one consistent view, table by table, however wrong. A row is valid
// until the callback returns. It stops at the first error, of the database or of the callback.
func readRows(ctx context.Context, db store.Database, use func(row) error) error {
	return store.ReadAll(ctx, db.View, func(r store.Reader) error {
		for _, t := range tables() {
			one := t.new()
			into := one.fields()
			err := store.Whole(ctx, r, store.Statement{Table: t.name, Columns: t.columns}, func(found store.Row) error {
				if err := found.Scan(into...); err != nil {
					return err
				}
				return use(one)
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// openSession opens a session; stop is nil outside isolation tests.
func openSession(ctx context.Context, db store.Database, stop Stop) (*session, error) {
	joins, open := db.Lacks()[store.SQL] == "", db.Session
	all := statements(joins)
	if stop != nil {
		all = append(all, testStatements()...)
		if stepping, is := store.As[store.Stepping](db); is {
			open = stepping.SteppedSession
		}
	}
	s, err := open(ctx, all)
	if err != nil {
		return nil, err
	}
	return &session{Session: s, joins: joins, stop: stop}, nil
}
