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

type work struct {
	store.Database
	definition.NoObservers
	config     Config
	population *Population
	inputs     *Inputs
}

func (c *Config) Open(_ context.Context, db store.Database, seed uint64, _ int) (definition.Work, error) {
	p := NewPopulation(*c, seed)
	return &work{Database: db, config: *c, population: p, inputs: NewInputs(p)}, nil
}

// Rows is the number of rows that Load creates, except lines of orders: some ten per order.
func (w *work) Rows() int64 { return w.config.rows() }

func (c Config) rows() int64 {
	district := 1 + 3*c.Customers + c.Customers - c.delivered()
	return c.Items + c.Warehouses*(1+c.Items+Districts*district)
}

// Load implements definition.Work.
func (w *work) Load(ctx context.Context, loaded func(done, total int64)) error {
	b := newBatches(w.population)
	of := definition.Loading{Loaders: w.config.Loaders, Rows: b.count(), Batch: 1, One: "batch of rows", Many: "batches of rows", Finish: w.FinishLoad}
	return of.Load(ctx, func() load.Batch {
		return func(ctx context.Context, number int64) (int, error) {
			return 1, loadRows(ctx, w.Database, b.fill(number-1))
		}
	}, func(done, total int64) {
		if total > 0 {
			loaded(w.Rows()*done/total, w.Rows())
		}
	})
}

// Promise is for the isolation tests.
func (w *work) Promise() string { return w.Promises().Model }

func (w *work) Client(ctx context.Context, n int) (load.Client, error) {
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

func (w *work) Save(ctx context.Context, folder string, read func(rows int64)) error {
	return save(filepath.Join(folder, FileState), read, func(use func(row) error) error { return readRows(ctx, w.Database, use) })
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

// fill makes the rows of a batch, counted from 0.
func (b *batches) fill(number int64) *rows {
	p, all := b.p, new(rows)
	if number < b.items {
		for id := number*itemBatch + 1; id <= min((number+1)*itemBatch, p.config.Items); id++ {
			all.add(p.item(id))
		}
		return all
	}
	number -= b.items
	warehouse, number := number/b.perWarehouse()+1, number%b.perWarehouse()
	switch {
	case number == 0:
		all.add(p.warehouse(warehouse))
		for district := range int64(Districts) {
			all.add(p.district(warehouse, district+1))
		}
	case number <= b.items:
		for item := (number-1)*itemBatch + 1; item <= min(number*itemBatch, p.config.Items); item++ {
			all.add(p.stock(warehouse, item))
		}
	default:
		number -= b.items + 1
		b.fillDistrict(warehouse, number/b.customers+1, number%b.customers, all)
	}
	return all
}

// fillDistrict makes customers of a district and as many opening orders.
func (b *batches) fillDistrict(warehouse, district, batch int64, all *rows) {
	p := b.p
	for id := batch*customerBatch + 1; id <= min((batch+1)*customerBatch, p.config.Customers); id++ {
		all.add(p.customer(warehouse, district, id))
		all.add(p.payment(warehouse, district, id))
		o, lines := p.order(warehouse, district, id, true, nil)
		all.add(&o)
		for i := range lines {
			all.add(&lines[i])
		}
		if id > p.config.delivered() {
			all.add(&NewOrder{warehouse, district, id})
		}
	}
}
