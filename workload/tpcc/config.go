// Package tpcc is the workload of an order-entry business after TPC-C, revision 5.11
// (TPC BENCHMARK C, Standard Specification, February 2010): five transactions over nine
// tables. It declares its tables and statements, makes the opening rows and the inputs
// of every transaction, and judges what is read back: by the twelve consistency
// conditions of clause 3.3.2, and by what became of each operation.
//
// What an operation asks for is a pure function of the seed and the operation's id, and
// so are the opening rows; nothing of either is stored in a run's folder.
//
// docs/guides/tpcc.md says what of the specification is not met.
//
// It must not know any driver.
package tpcc

import (
	"fmt"

	"assay/store"
)

// Config is what a user can set, as Flags has it. It is a definition.Config.
type Config struct {
	Warehouses int64 `yaml:"warehouses" json:"warehouses"`
	// Items are also the rows of stock a warehouse.
	Items int64 `yaml:"items" json:"items"`
	// Customers of a district are also its orders at first.
	Customers  int64  `yaml:"customers" json:"customers"`
	Schema     string `yaml:"schema" json:"schema"`
	ThinkTimes bool   `yaml:"think_times" json:"think_times"`
	Loaders    int    `yaml:"loaders" json:"loaders"`
}

// The forms of the tables (Config.Schema). They are those of py-tpcc's driver for
// MongoDB, as A. Kamsky describes them in "Adapting TPC-C Benchmark to Measure
// Performance of Multi-Document Transactions in MongoDB", PVLDB 12(12), 2019.
const (
	// SchemaNormalized has the tables of clause 1.3, and is the only one in SQL.
	SchemaNormalized = "normalized"
	// SchemaDenormalized has the lines of an order inside the order's document.
	SchemaDenormalized = "denormalized"
)

// The sizes of the specification, clause 1.2.1.
const (
	// Districts is how many a warehouse has.
	Districts = 10

	specItems     = 100_000
	specCustomers = 3000

	maxWarehouses = 10_000
	minItems      = 100
	minCustomers  = 10
	minLines      = 5
	// MaxLines is the most lines of an order.
	MaxLines = 15
)

// Defaults returns the configuration of a run without flags.
func Defaults() Config {
	return Config{Warehouses: 1, Items: specItems, Customers: specCustomers, Schema: SchemaNormalized, Loaders: 4}
}

func (c Config) Validate() error {
	refuse := func(option string, value int64, want string) error {
		return &store.OptionError{Option: option, Value: fmt.Sprint(value), Want: want}
	}
	switch {
	case c.Warehouses < 1 || c.Warehouses > maxWarehouses:
		return refuse("--warehouses", c.Warehouses, fmt.Sprintf("1 to %d", maxWarehouses))
	case c.Items < minItems || c.Items > specItems:
		return refuse("--items", c.Items, fmt.Sprintf("%d to %d", minItems, specItems))
	case c.Customers < minCustomers || c.Customers > specCustomers:
		return refuse("--customers", c.Customers, fmt.Sprintf("%d to %d", minCustomers, specCustomers))
	case c.Loaders < 1 || c.Loaders > 256:
		return refuse("--loaders", int64(c.Loaders), "1 to 256")
	case c.Schema != "" && c.Schema != SchemaNormalized && c.Schema != SchemaDenormalized:
		return &store.OptionError{Option: "--schema", Value: c.Schema, Want: SchemaNormalized + ", " + SchemaDenormalized}
	}
	return nil
}

// delivered is how many of a district's first orders are delivered when the run
// begins: 2,100 of 3,000 (clause 4.3.3.1).
func (c Config) delivered() int64 { return c.Customers * 7 / 10 }

// names is how many last names there are.
func (c Config) names() int64 { return min(c.Customers, 1000) }
