package sqldb

import (
	"context"

	"assay/workload"
	"assay/workload/bulkupdate"
)

// DriverOf is the Driver that opens a database by this function.
func DriverOf[D FullDatabase](open func(context.Context, workload.Target, Schema) (D, error)) Driver {
	return func(ctx context.Context, target workload.Target, of Schema) (FullDatabase, error) {
		db, err := open(ctx, target, of)
		if err != nil {
			return nil, err // and not a typed nil
		}
		return db, nil
	}
}

// Plain has what FullDatabase asks for beside a Database, of a product that has nothing
// of its own there: one storage engine, no account of waits, no compaction, and reads
// that go where writes go and of which nothing is promised. A protocol embeds it and
// overrides what its product has.
type Plain struct {
	Of Database
	// Engine is the only way to store tables.
	Engine string
}

// Waits implements Waiter: none are counted.
func (p Plain) Waits(context.Context) ([]bulkupdate.Wait, error) { return nil, nil }

// Engines implements EngineChooser.
func (p Plain) Engines(context.Context) ([]string, error) { return []string{p.Engine}, nil }

// CreateOn implements EngineChooser.
func (p Plain) CreateOn(ctx context.Context, mark workload.Marker, _ string, _ bool) error {
	return p.Of.Create(ctx, mark)
}

// Compactions implements Compactor.
func (p Plain) Compactions() ([]string, error) {
	return nil, &workload.OptionError{Option: "workload", Value: "churn", Want: "another workload: the database cannot be asked to give back space"}
}

// Compact implements Compactor.
func (p Plain) Compact(context.Context, string) error {
	_, err := p.Compactions()
	return err
}

// FileSize implements Compactor.
func (p Plain) FileSize(ctx context.Context) (workload.Size, error) { return p.Of.Size(ctx) }

// PromiseReads implements KeyValueDatabase.
func (p Plain) PromiseReads() string { return "" }

// ConnectKeyValue implements KeyValueDatabase.
func (p Plain) ConnectKeyValue(ctx context.Context, statements []Statement) (Executor, error) {
	return p.Of.Connect(ctx, statements)
}
