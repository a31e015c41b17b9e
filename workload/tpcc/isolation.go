package tpcc

// Stop is called at each Point, in the transaction's goroutine, with what was read there. again
// makes the transaction read and call once more. An error rolls it back: it ends as Failed and
// the session stays usable.
type Stop func(at Point, read []int64) (again bool, err error)

// Point is a place in a transaction where it calls Stop.
type Point uint8

const (
	// AtPrices: a New-Order has read its items' prices, by item number, each item once; 0 for none.
	AtPrices Point = iota + 1
	// AtOldestOrder: a Delivery has looked for a district's oldest order; 0 for none.
	AtOldestOrder
	// AtLastOrder: an Order-Status has found its customer's last order.
	AtLastOrder
	// AtEnd: only COMMIT or the rollback of UnusedItem remains. A New-Order gives its number;
	// again has no effect.
	AtEnd
)

// The tests' rows are in the run's tables. Each test has a warehouse with one district, one
// customer and one order. No run uses their warehouses, items and operations.
const (
	// TestWarehouse is above the warehouses of all runs. Test n has warehouse TestWarehouse+n.
	TestWarehouse     = maxWarehouses
	LastTestWarehouse = TestWarehouse + isolationTests
	// FirstTestItem and LastTestItem are the tests' items. The item before them does not exist.
	FirstTestItem = specItems + 11
	LastTestItem  = FirstTestItem + testItems - 1
	// FirstTestOperation and LastTestOperation are below the operations of loaded rows.
	FirstTestOperation = -(1 << 41)
	LastTestOperation  = -(1 << 40)

	isolationTests = 9
	testItems      = 5
	testPrice      = 10_00
	// testOrder is the order that a test begins with.
	testDistrict, testCustomer, testOrder = 1, 1, 1
	testBalance                           = -10_00
	testAmount                            = 5 * testPrice
	testQuantity                          = 5
)

// testRows are the rows of all tests. Orders are delivered, except in tests that deliver.
func testRows() *rows {
	const name = "isolation"
	all := new(rows)
	for item := int64(FirstTestItem); item <= LastTestItem; item++ {
		all.add(&Item{ID: item, Price: testPrice, Image: 1, Name: name, Data: name})
	}
	for _, test := range isolationScripts() {
		w := test.warehouse()
		operation := int64(FirstTestOperation + test.Number)
		carrier, delivered := int64(1), int64(1)
		if test.delivers {
			carrier, delivered = 0, 0
			all.add(&NewOrder{Warehouse: w, District: testDistrict, Order: testOrder})
		}
		all.add(&Warehouse{ID: w, Name: name})
		all.add(&District{Warehouse: w, ID: testDistrict, NextOrder: testOrder + 1, Name: name})
		all.add(&Customer{Warehouse: w, District: testDistrict, ID: testCustomer, Balance: testBalance,
			First: name, Last: name, Credit: "GC"})
		all.add(&Order{Warehouse: w, District: testDistrict, ID: testOrder, Customer: testCustomer, Carrier: carrier,
			LineCount: testItems, AllLocal: 1, Operation: operation})
		for i := range int64(testItems) {
			item := FirstTestItem + i
			all.add(&OrderLine{Warehouse: w, District: testDistrict, Order: testOrder, Number: i + 1, Item: item,
				Supply: w, Quantity: testQuantity, Amount: testAmount, Delivered: delivered})
			all.add(&Stock{Warehouse: w, Item: item, Quantity: 100})
		}
	}
	return all
}
