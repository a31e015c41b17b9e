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
// number of rows so far. Rows of the isolation tests are left out. A file that exists is replaced, and only by a whole one.
func Save(ctx context.Context, store Store, path string, read func(rows int64)) error {
	var rows int64
	return history.SaveRecords(path, stateMagic, func() { read(rows) }, func(w *history.RecordWriter) error {
		s := saver{w, &rows}
		err := store.Read(ctx, withoutTests(Visitor{
			Item: saved(s, tagItem, ItemColumns()), Warehouse: saved(s, tagWarehouse, WarehouseColumns()),
			District: saved(s, tagDistrict, DistrictColumns()), Customer: saved(s, tagCustomer, CustomerColumns()),
			Payment: saved(s, tagPayment, PaymentColumns()), Order: saved(s, tagOrder, OrderColumns()),
			NewOrder: saved(s, tagNewOrder, NewOrderColumns()), Line: saved(s, tagLine, OrderLineColumns()),
			Stock: saved(s, tagStock, StockColumns()), Delivery: saved(s, tagDelivery, DeliveryColumns()),
		}))
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

// saved writes the numbers of the rows of a table.
func saved[T any](w saver, tag byte, c workload.Columns[T]) func(T) error {
	var row T
	fields := Numbers(c).Fields(&row)
	numbers := make([]int64, len(fields))
	return func(r T) error {
		row = r
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
