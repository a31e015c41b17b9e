package tpcc

import (
	"cmp"
	"strconv"

	"assay/load"
	"assay/report"
	"assay/store"
	"assay/store/promise"
	"assay/workload/definition"
)

const Name = "tpcc"

// The checks.
const (
	CheckConsistency = "consistency"
	CheckOrders      = "orders"
	CheckPayments    = "payments"
	CheckDeliveries  = "deliveries"
	CheckStock       = "stock"
	CheckAnswers     = "answers"
	CheckIsolation   = "isolation"
)

func Definition() definition.Workload {
	return definition.Workload{
		Name: Name, Key: "tpcc",
		Summary: "order entry after TPC-C: five transactions, twelve consistency conditions, every order accounted for",
		Short:   "Order entry after TPC-C, with every order, payment and delivery accounted for",
		Long: `Order entry after TPC-C, revision 5.11.

Works the five transactions in the standard mix, reads all tables back and checks
the twelve consistency conditions of clause 3.3.2, and every order, payment and
delivery against the database's answers. Then it plays the isolation tests of
clause 3.4.2.

The tpmC-like figure is no result of the TPC's: docs/guides/tpcc.md says what of
the specification is not met.`,
		Example: `  assay run tpcc --db sqlite:shop.db
  assay run tpcc --db postgres://user@localhost/test --warehouses 10 --clients 16 --duration 5m
  assay run tpcc --cluster postgres:1 --items 1000 --customers 100 --retry idempotent
  assay run tpcc --cluster mongodb:3 --schema denormalized --retry failed`,
		Checks: []definition.Check{
			{Name: CheckConsistency, Asserts: "The rows meet the twelve conditions of clause 3.3.2: sums, counts and keys of all tables agree.", Tests: promise.Atomicity,
				Kinds: map[string]promise.Property{"foreign": promise.Rules, "lost": promise.Durability}},
			{Name: CheckOrders, Asserts: "A committed New-Order has exactly one order with the lines that were asked for, a failed or rolled back one has none, and one that ended unknown has none or all of it. The opening orders are as they were loaded.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "half done": promise.Atomicity, "failed": promise.Atomicity}},
			{Name: CheckPayments, Asserts: "A committed Payment has exactly one row in the history, a failed one none, and warehouses, districts and customers hold what opening rows and payments add up to.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "failed": promise.Atomicity, "total": promise.Atomicity}},
			{Name: CheckDeliveries, Asserts: "A committed Delivery has delivered exactly the orders that it answered, with all their lines, and the customers' balances hold them; a failed one has delivered none.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "failed": promise.Atomicity, "half done": promise.Atomicity, "total": promise.Atomicity}},
			{Name: CheckStock, Asserts: "Each stock holds what its opening row less the lines of all orders leaves, and counts them.",
				Kinds: map[string]promise.Property{"lost": promise.Durability, "quantity": promise.Atomicity}},
			{Name: CheckAnswers, Asserts: "Order numbers, totals, customers and lines that clients were given agree with what is there.", Tests: promise.Isolation},
			{Name: CheckIsolation, Asserts: "The isolation tests 1 to 9 of clause 3.4.2, played on the database when it was read back, show nothing that its isolation level promises to prevent.", Tests: promise.Isolation},
		},
		Schema: Schema, Refuse: refuse, NotJudged: NotJudged(),
		Needs: []store.Need{{Capability: store.Transactions, Why: "an order could be half entered"}, {Capability: store.SecondaryUnique, Why: "an order could be entered twice"},
			{Capability: store.OrderedScans}, {Capability: store.Indexes}, {Capability: store.Snapshots}},
		Config:     func() definition.Config { c := Defaults(); return &c },
		Bugs:       Bugs(),
		State:      FileState,
		Operations: map[uint8]string{KindNewOrder: "New-Order", KindPayment: "Payment", KindOrderStatus: "Order-Status", KindDelivery: "Delivery", KindStockLevel: "Stock-Level"},
		SizeLoaded: true,
	}
}

func (c *Config) Flags() []definition.Flag {
	return []definition.Flag{
		{Name: "warehouses", Value: &c.Warehouses, Min: 1, Max: maxWarehouses, Setting: "warehouses", Usage: "how many warehouses, 1 to 10000"},
		{Name: "items", Value: &c.Items, Min: minItems, Max: specItems, Setting: "items", Usage: "how many items, 100 to 100000; the specification has 100000"},
		{Name: "customers", Value: &c.Customers, Min: minCustomers, Max: specCustomers, Setting: "customers a district", Usage: "customers of a district, 10 to 3000; the specification has 3000"},
		{Name: "schema", Value: &c.Schema, Setting: "schema", Usage: "normalized: a table or collection each; denormalized: the lines of an order in its document (MongoDB)", Values: []string{SchemaNormalized, SchemaDenormalized}, Empty: true},
		{Name: "think-times", Value: &c.ThinkTimes, Setting: "think times", Usage: "wait as a person at a terminal does; ten clients a warehouse are then the specification's"},
		{Name: "loaders", Value: &c.Loaders, Min: 1, Max: 256, Usage: "batches of rows that are loaded at the same time"},
	}
}

func (c *Config) Plan(p load.Plan) (load.Plan, error) {
	if c.ThinkTimes && p.Rate > 0 {
		return p, &load.PlanError{Option: "--rate", Value: strconv.FormatFloat(p.Rate, 'g', -1, 64), Want: "none with --think-times, which sets the pace"}
	}
	return definition.InTurn(p)
}

func (c *Config) Target(to *store.Target) { to.Schema = c.Schema }

func (c *Config) Volume() definition.Volume {
	return definition.Volume{Rows: c.rows() + 10*Districts*c.Customers*c.Warehouses, RowBytes: 150, Inserts: 6}
}

func (c *Config) Options(definition.Support) []report.Setting {
	shown := *c
	shown.Schema = cmp.Or(c.Schema, SchemaNormalized)
	return definition.Settings(shown.Flags())
}
