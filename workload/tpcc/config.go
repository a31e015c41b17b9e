// Package tpcc is the workload of an order-entry business after TPC-C, revision 5.11 (TPC
// BENCHMARK C, Standard Specification, February 2010). It judges the state by the twelve
// consistency conditions of clause 3.3.2 and by the outcome of each operation.
// docs/guides/tpcc.md lists the departures from the specification.
//
// The seed decides the opening rows, and with an operation's id its inputs.
//
// It must not know any driver.
package tpcc

import "assay/workload/definition"

// Config is a definition.Config.
type Config struct {
	Warehouses int64 `yaml:"warehouses" json:"warehouses"`
	// Items is also the rows of stock per warehouse.
	Items int64 `yaml:"items" json:"items"`
	// Customers is per district, and also the opening orders there.
	Customers  int64  `yaml:"customers" json:"customers"`
	Schema     string `yaml:"schema" json:"schema"`
	ThinkTimes bool   `yaml:"think_times" json:"think_times"`
	Loaders    int    `yaml:"loaders" json:"loaders"`
}

// Forms of py-tpcc for MongoDB: A. Kamsky, "Adapting TPC-C Benchmark to Measure Performance of
// Multi-Document Transactions in MongoDB", PVLDB 12(12), 2019.
const (
	// SchemaNormalized has the tables of clause 1.3. SQL has no other form.
	SchemaNormalized = "normalized"
	// SchemaDenormalized has an order's lines inside the order's document.
	SchemaDenormalized = "denormalized"
)

// Sizes of clause 1.2.1.
const (
	// Districts is the number per warehouse.
	Districts = 10

	specItems     = 100_000
	specCustomers = 3000

	maxWarehouses = 10_000
	minItems      = 100
	minCustomers  = 10
	minLines      = 5
	MaxLines      = 15
)

// Defaults returns the default configuration.
func Defaults() Config {
	return Config{Warehouses: 1, Items: specItems, Customers: specCustomers, Schema: SchemaNormalized, Loaders: 4}
}

func (c Config) Validate() error { return definition.CheckFlags(c.Flags()) }

// delivered counts a district's delivered opening orders: 70 % (clause 4.3.3.1).
func (c Config) delivered() int64 { return c.Customers * 7 / 10 }

func (c Config) names() int64 { return min(c.Customers, 1000) }
