package tpcc

import (
	"fmt"
	"maps"
	"slices"

	"assay/store"
)

// Stop is called by a transaction that has come to a point, with what it has read there,
// in the goroutine that does the transaction. The transaction goes on when it returns:
// again has it read the same once more and call Stop with that; an error has it rolled
// back and end as Failed, with a session that can be used.
type Stop func(at Point, read []int64) (again bool, err error)

// After does a reading and comes to a point with what read tells of it, as often as is
// wanted. The error is the reading's, or one that has the transaction rolled back. A nil Stop
// wants it once.
func (s Stop) After(at Point, do func() error, read func() []int64) error {
	for {
		if err := do(); err != nil || s == nil {
			return err
		}
		again, err := s(at, read())
		if err != nil {
			return fmt.Errorf("%w: %w", err, store.ErrRollback)
		}
		if !again {
			return nil
		}
	}
}

// AtEnd comes to the point AtEnd with these values, unless there was an error, which it
// returns.
func (s Stop) AtEnd(err error, values ...int64) error {
	if err != nil {
		return err
	}
	return s.After(AtEnd, func() error { return nil }, func() []int64 { return values })
}

// PricesByItem are prices by the numbers of their items as AtPrices has them.
func PricesByItem(prices map[int64]int64) (inOrder []int64) {
	for _, item := range slices.Sorted(maps.Keys(prices)) {
		inOrder = append(inOrder, prices[item])
	}
	return inOrder
}

// Point is where a transaction is when it calls Stop.
type Point uint8

const (
	// AtPrices: a New-Order has read the prices of its items, in the order of their
	// numbers, each item once.
	AtPrices Point = iota + 1
	// AtOldestOrder: a Delivery has looked for the oldest order of a district, whose
	// number it is; 0 for none.
	AtOldestOrder
	// AtLastOrder: an Order-Status has found the last order of its customer, whose
	// number it is.
	AtLastOrder
	// AtEnd: all is done but COMMIT or, of a New-Order with an item that does not exist,
	// the rollback. A New-Order has the number of its order. again means nothing here.
	AtEnd
)

// The rows of the isolation tests are in the same tables as those of the run, and away
// from them: each test has a warehouse of its own, with one district, one customer and
// one order, and their items and operations have numbers that no run has.
const (
	// TestWarehouse is above the warehouses of all runs; that of test n is n more.
	TestWarehouse = maxWarehouses
	// LastTestWarehouse is the warehouse of the last test.
	LastTestWarehouse = TestWarehouse + isolationTests
	// FirstTestItem and LastTestItem are the items of the tests. That before them does
	// not exist.
	FirstTestItem = specItems + 11
	LastTestItem  = FirstTestItem + testItems - 1
	// FirstTestOperation and LastTestOperation bound the operations of the tests; what
	// was loaded is above them.
	FirstTestOperation = -(1 << 41)
	LastTestOperation  = -(1 << 40)

	isolationTests = 9
	testItems      = 5
	testPrice      = 10_00
	// testDistrict and testCustomer are the only ones of a test's warehouse, and
	// testOrder is the order that it begins with.
	testDistrict, testCustomer, testOrder = 1, 1, 1
	testBalance                           = -10_00
	// testAmount is the amount of each line of an order.
	testAmount   = 5 * testPrice
	testQuantity = 5
)

// ofTest reports whether a row with this warehouse is one of the isolation tests.
func ofTest(warehouse int64) bool { return warehouse > TestWarehouse && warehouse <= LastTestWarehouse }

// testRows are the rows of all tests. Only the orders of those that deliver are not
// delivered yet.
func testRows() *Rows {
	const name = "isolation"
	rows := &Rows{}
	for item := int64(FirstTestItem); item <= LastTestItem; item++ {
		rows.Items = append(rows.Items, Item{ID: item, Price: testPrice, Image: 1, Name: name, Data: name})
	}
	for _, test := range isolationScripts() {
		w := test.warehouse()
		operation := int64(FirstTestOperation + test.Number)
		carrier, delivered := int64(1), int64(1)
		if test.delivers {
			carrier, delivered = 0, 0
			rows.NewOrders = append(rows.NewOrders, NewOrder{Warehouse: w, District: testDistrict, Order: testOrder})
		}
		rows.Warehouses = append(rows.Warehouses, Warehouse{ID: w, Name: name})
		rows.Districts = append(rows.Districts, District{Warehouse: w, ID: testDistrict, NextOrder: testOrder + 1, Name: name})
		rows.Customers = append(rows.Customers, Customer{Warehouse: w, District: testDistrict, ID: testCustomer, Balance: testBalance,
			First: name, Last: name, Credit: "GC"})
		rows.Orders = append(rows.Orders, Order{Warehouse: w, District: testDistrict, ID: testOrder, Customer: testCustomer, Carrier: carrier,
			LineCount: testItems, AllLocal: 1, Operation: operation})
		for i := range int64(testItems) {
			item := FirstTestItem + i
			rows.Lines = append(rows.Lines, OrderLine{Warehouse: w, District: testDistrict, Order: testOrder, Number: i + 1, Item: item,
				Supply: w, Quantity: testQuantity, Amount: testAmount, Delivered: delivered})
			rows.Stock = append(rows.Stock, Stock{Warehouse: w, Item: item, Quantity: 100})
		}
	}
	return rows
}
