package tpcc

import (
	"context"
	"path/filepath"

	"assay/load"
	"assay/store"
	"assay/workload/definition"
)

// FileState is the saved state's name in a run's folder.
const FileState = "tpcc.bin"

// Work is a definition.Work.
type Work struct {
	store.Database
	definition.NoObservers
	config     Config
	population *Population
	inputs     *Inputs
}

// NewWork returns the work on a database, which it then owns, or Config.Validate's error.
func NewWork(db store.Database, config Config, seed uint64) (*Work, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	p := NewPopulation(config, seed)
	return &Work{Database: db, config: config, population: p, inputs: NewInputs(p)}, nil
}

// Rows is the number of rows that Load creates, except lines of orders: some ten per order.
func (w *Work) Rows() int64 { return w.config.rows() }

func (c Config) rows() int64 {
	district := 1 + 3*c.Customers + c.Customers - c.delivered()
	return c.Items + c.Warehouses*(1+c.Items+Districts*district)
}

// Load implements definition.Work.
func (w *Work) Load(ctx context.Context, loaded func(done, total int64)) error {
	b := newBatches(w.population)
	of := definition.Loading{Loaders: w.config.Loaders, Rows: b.count(), Batch: 1, One: "batch of rows", Many: "batches of rows", Finish: w.FinishLoad}
	return of.Load(ctx, func() load.Batch {
		var rows Rows
		return func(ctx context.Context, number int64) (int, error) {
			b.fill(number-1, &rows)
			return 1, loadRows(ctx, w.Database, &rows)
		}
	}, func(done, total int64) {
		if total > 0 {
			loaded(w.Rows()*done/total, w.Rows())
		}
	})
}

// Promise is for the isolation tests.
func (w *Work) Promise() string { return w.Promises().Model }

func (w *Work) Client(ctx context.Context, n int) (load.Client, error) {
	connection, err := store.Connect(ctx, func(ctx context.Context) (*session, error) { return openSession(ctx, w.Database, nil) })
	if err != nil {
		return nil, err
	}
	c := &client{Connection: connection, inputs: w.inputs, number: n}
	if w.config.ThinkTimes {
		return thinking{c}, nil
	}
	return c, nil
}

func (w *Work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return Save(ctx, func(ctx context.Context, v Visitor) error { return readRows(ctx, w.Database, v) }, filepath.Join(folder, FileState), read)
}

// batches divides the opening rows: items, and per warehouse its row with districts, stock,
// customers.
type batches struct {
	p *Population
	// items and customers are numbers of batches, customers per district.
	items, customers int64
}

const (
	itemBatch = 1000
	// customerBatch makes some thousand lines of orders.
	customerBatch = 100
)

func newBatches(p *Population) batches {
	pieces := func(rows, batch int64) int64 { return (rows + batch - 1) / batch }
	return batches{p, pieces(p.config.Items, itemBatch), pieces(p.config.Customers, customerBatch)}
}

func (b *batches) perWarehouse() int64 { return 1 + b.items + Districts*b.customers }

func (b *batches) count() int64 { return b.items + b.p.config.Warehouses*b.perWarehouse() }

// clear keeps the memory.
func (r *Rows) clear() {
	*r = Rows{Items: r.Items[:0], Warehouses: r.Warehouses[:0], Districts: r.Districts[:0], Customers: r.Customers[:0],
		Payments: r.Payments[:0], Orders: r.Orders[:0], NewOrders: r.NewOrders[:0], Lines: r.Lines[:0], Stock: r.Stock[:0]}
}

// fill makes the rows of a batch, counted from 0.
func (b *batches) fill(number int64, rows *Rows) {
	rows.clear()
	p := b.p
	if number < b.items {
		for id := number*itemBatch + 1; id <= min((number+1)*itemBatch, p.config.Items); id++ {
			rows.Items = append(rows.Items, p.item(id))
		}
		return
	}
	number -= b.items
	warehouse, number := number/b.perWarehouse()+1, number%b.perWarehouse()
	switch {
	case number == 0:
		rows.Warehouses = append(rows.Warehouses, p.warehouse(warehouse))
		for district := range int64(Districts) {
			rows.Districts = append(rows.Districts, p.district(warehouse, district+1))
		}
	case number <= b.items:
		for item := (number-1)*itemBatch + 1; item <= min(number*itemBatch, p.config.Items); item++ {
			rows.Stock = append(rows.Stock, p.stock(warehouse, item))
		}
	default:
		number -= b.items + 1
		b.fillDistrict(warehouse, number/b.customers+1, number%b.customers, rows)
	}
}

// fillDistrict makes customers of a district and as many opening orders.
func (b *batches) fillDistrict(warehouse, district, batch int64, rows *Rows) {
	p := b.p
	for id := batch*customerBatch + 1; id <= min((batch+1)*customerBatch, p.config.Customers); id++ {
		rows.Customers = append(rows.Customers, p.customer(warehouse, district, id))
		rows.Payments = append(rows.Payments, p.payment(warehouse, district, id))
		var o Order
		o, rows.Lines = p.order(warehouse, district, id, true, rows.Lines)
		rows.Orders = append(rows.Orders, o)
		if id > p.config.delivered() {
			rows.NewOrders = append(rows.NewOrders, NewOrder{warehouse, district, id})
		}
	}
}
