package tpcc

import (
	"context"
	"errors"
	"slices"

	"assay/history"
	"assay/store"
)

// The state has records (history.SaveRecords) of each row's numbers and hashes of texts by
// table, then the count of rows. The former form has no texts, clock dates, and tags less by
// one.
const (
	stateMagic  = "ASSAYT02"
	formerMagic = "ASSAYT01"

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

// Save leaves out isolation tests' rows. read gets the rows so far. Only a whole file replaces
// an old one.
func Save(ctx context.Context, all func(context.Context, Visitor) error, path string, read func(rows int64)) error {
	var rows int64
	return history.SaveRecords(path, stateMagic, func() { read(rows) }, func(w *history.RecordWriter) error {
		s := saver{w, &rows}
		err := all(ctx, Visitor{
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

func saved[T any](w saver, tag byte, c store.Columns[T], ofTest func(*T) bool) func(T) error {
	l := newLine(c, true)
	return func(r T) error {
		if l.row = r; ofTest(&l.row) {
			return nil
		}
		if l.texts != nil {
			*l.texts = keptOf(c.Names, l.all)
		}
		for i, field := range l.fields {
			l.values[i] = *field
		}
		*w.rows++
		return w.Put(tag, l.values...)
	}
}

// line is a row and its saved values.
type line[T any] struct {
	row T
	// texts is nil if the row has none.
	all    []any
	texts  *kept
	fields []*int64
	values []int64
}

func newLine[T any](c store.Columns[T], told bool) *line[T] {
	l := &line[T]{}
	l.all = c.Fields(&l.row)
	own := numbers(l.all)
	for _, field := range own {
		l.fields = append(l.fields, field.(*int64))
	}
	if row, has := any(&l.row).(keeper); has && told {
		l.texts = row.keep()
		l.fields = append(l.fields, l.texts.numbers(slices.Contains(c.Names, customerData))...)
	}
	l.values = make([]int64, len(l.fields))
	return l
}

// Replay gives a saved state in its order, with hashes in place of texts. A file that is not
// whole gives a *history.CutError, a damaged one a *history.FormatError. Errors of callbacks are
// returned unchanged.
func Replay(path string, v Visitor) error {
	rows, err := replay(path, stateMagic, true, v)
	var other *history.FormatError
	if rows > 0 || !errors.As(err, &other) {
		return err
	}
	if _, former := replay(path, formerMagic, false, v); !errors.As(former, new(*history.FormatError)) {
		return former
	}
	return err
}

func replay(path, magic string, told bool, v Visitor) (rows int64, err error) {
	tables := map[byte]func(*history.RecordReader) error{
		tagItem: replayed(v.Item, ItemColumns(), told), tagWarehouse: replayed(v.Warehouse, WarehouseColumns(), told),
		tagDistrict: replayed(v.District, DistrictColumns(), told), tagCustomer: replayed(v.Customer, CustomerColumns(), told),
		tagPayment: replayed(v.Payment, PaymentColumns(), told), tagOrder: replayed(v.Order, OrderColumns(), told),
		tagNewOrder: replayed(v.NewOrder, NewOrderColumns(), told), tagLine: replayed(v.Line, OrderLineColumns(), told),
		tagStock: replayed(v.Stock, StockColumns(), told), tagDelivery: replayed(v.Delivery, DeliveryColumns(), told),
	}
	err = history.ReplayRecords(path, magic, func(tag byte, r *history.RecordReader) error {
		if !told {
			tag++
		}
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
	return rows, err
}

func replayed[T any](use func(T) error, c store.Columns[T], told bool) func(*history.RecordReader) error {
	l := newLine(c, told)
	return func(r *history.RecordReader) error {
		if !r.Ints(l.values) {
			return r.Malformed("a row that cannot be read")
		}
		for i, field := range l.fields {
			*field = l.values[i]
		}
		if l.texts != nil {
			l.texts.told = true
		}
		return use(l.row)
	}
}
