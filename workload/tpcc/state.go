package tpcc

import (
	"context"

	"assay/history"
	"assay/workload"
)

// The rows after the run are kept in a file of records (history.SaveRecords): the
// numbers of each row, by its table, and then how many rows there are.
const (
	stateMagic = "ASSAYT01"

	tagItem byte = iota
	tagWarehouse
	tagDistrict
	tagCustomer
	tagPayment
	tagOrder
	tagNewOrder
	tagLine
	tagStock
	tagDelivery
	tagCount
)

// Save reads all rows of the store into a file. read is called now and then with the
// number of rows so far. Rows of the isolation tests are left out, which are there while
// these are played, and if they could not be removed. A file that exists is replaced, and
// only by a whole one.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	var rows int64
	return history.SaveRecords(path, stateMagic, func() { read(rows) }, func(w *history.RecordWriter) error {
		s := saver{w, &rows}
		err := store.Read(ctx, Visitor{
			Item:      saved(s, tagItem, ItemColumns(), func(r *Item) bool { return r.ID >= FirstTestItem && r.ID <= LastTestItem }),
			Warehouse: saved(s, tagWarehouse, WarehouseColumns(), func(r *Warehouse) bool { return ofTest(r.ID) }),
			District:  saved(s, tagDistrict, DistrictColumns(), func(r *District) bool { return ofTest(r.Warehouse) }),
			Customer:  saved(s, tagCustomer, CustomerColumns(), func(r *Customer) bool { return ofTest(r.Warehouse) }),
			Payment:   saved(s, tagPayment, PaymentColumns(), func(r *Payment) bool { return ofTest(r.Warehouse) }),
			Order:     saved(s, tagOrder, OrderColumns(), func(r *Order) bool { return ofTest(r.Warehouse) }),
			NewOrder:  saved(s, tagNewOrder, NewOrderColumns(), func(r *NewOrder) bool { return ofTest(r.Warehouse) }),
			Line:      saved(s, tagLine, OrderLineColumns(), func(r *OrderLine) bool { return ofTest(r.Warehouse) }),
			Stock:     saved(s, tagStock, StockColumns(), func(r *Stock) bool { return ofTest(r.Warehouse) }),
			Delivery:  saved(s, tagDelivery, DeliveryColumns(), func(r *Delivery) bool { return ofTest(r.Warehouse) }),
		})
		if err != nil {
			return err
		}
		return w.Put(tagCount, rows)
	})
}

type saver struct {
	*history.RecordWriter
	rows *int64
}

// saved writes the numbers of the rows of a table, but for those of the isolation tests.
func saved[T any](w saver, tag byte, c workload.Columns[T], ofTest func(*T) bool) func(T) error {
	var row T
	fields := Numbers(c).Fields(&row)
	numbers := make([]int64, len(fields))
	return func(r T) error {
		if row = r; ofTest(&row) {
			return nil
		}
		for i, field := range fields {
			numbers[i] = *field.(*int64)
		}
		*w.rows++
		return w.Put(tag, numbers...)
	}
}

// Replay reads a saved state: what Store.Read gave, in its order. A file that is not
// whole gives a *history.CutError, a damaged one a *history.FormatError, and a
// callback's error is returned as it is.
func Replay(path string, v Visitor) error {
	var rows int64
	tables := map[byte]func(*history.RecordReader) error{
		tagItem: replayed(v.Item, ItemColumns()), tagWarehouse: replayed(v.Warehouse, WarehouseColumns()),
		tagDistrict: replayed(v.District, DistrictColumns()), tagCustomer: replayed(v.Customer, CustomerColumns()),
		tagPayment: replayed(v.Payment, PaymentColumns()), tagOrder: replayed(v.Order, OrderColumns()),
		tagNewOrder: replayed(v.NewOrder, NewOrderColumns()), tagLine: replayed(v.Line, OrderLineColumns()),
		tagStock: replayed(v.Stock, StockColumns()), tagDelivery: replayed(v.Delivery, DeliveryColumns()),
	}
	return history.ReplayRecords(path, stateMagic, func(tag byte, r *history.RecordReader) error {
		if table := tables[tag]; table != nil {
			rows++
			return table(r)
		}
		var count [1]int64
		if tag != tagCount || !r.Ints(count[:]) || count[0] != rows {
			return r.Malformed("a row that cannot be read, or a count that does not match")
		}
		r.Whole()
		return nil
	})
}

// replayed reads a row of a table and gives it to a callback.
func replayed[T any](use func(T) error, c workload.Columns[T]) func(*history.RecordReader) error {
	var row T
	fields := Numbers(c).Fields(&row)
	numbers := make([]int64, len(fields))
	return func(r *history.RecordReader) error {
		if !r.Ints(numbers) {
			return r.Malformed("a row that cannot be read")
		}
		for i, field := range fields {
			*field.(*int64) = numbers[i]
		}
		return use(row)
	}
}
