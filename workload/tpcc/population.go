package tpcc

import (
	"cmp"
	"slices"
	"sync"

	"assay/workload"
)

// Keys of random streams have the highest bit; operations use their ids, which are positive.
const (
	constantsKey uint64 = 1<<63 | iota<<58
	itemKey
	warehouseKey
	districtKey
	customerKey
	paymentKey
	orderKey
	stockKey
	permutationKey
	deckKey
	thinkKey
)

// Population computes the opening state (clause 4.3.3.1). It is safe for concurrent use.
type Population struct {
	config    Config
	seed      uint64
	constants constants
	// moment is the opening rows' date.
	moment int64

	mu sync.Mutex
	// By district: customers of the opening orders, and customers of each last name.
	customers map[int64][]int16
	named     map[int64][][]int16
}

// 2000-01-01 00:00 UTC. Clock times could be compared with nothing.
const openingMoment = 946_684_800_000

// momentSpan bounds the dates of operations to the year after.
const momentSpan = 365 * 24 * 60 * 60 * 1000

// Moment is the date of the rows that an operation makes.
func (p *Population) Moment(operation int64) int64 {
	return openingMoment + 1 + int64(workload.Mix(p.seed^workload.Mix(uint64(operation)))%momentSpan)
}

// NewPopulation returns the opening state of a valid configuration.
func NewPopulation(config Config, seed uint64) *Population {
	return &Population{
		config: config, seed: seed, constants: drawConstants(seed), moment: openingMoment,
		customers: map[int64][]int16{}, named: map[int64][][]int16{},
	}
}

func (p *Population) stream(of uint64, warehouse, district, number int64) random {
	return random{workload.NewRandom(p.seed, of|uint64(warehouse)<<40|uint64(district)<<36|uint64(number))}
}

// Price is an item's price in cents, from 1.00 to 100.00.
func (p *Population) Price(item int64) int64 {
	r := p.stream(itemKey, 0, 0, item)
	return r.between(1_00, 100_00)
}

func (p *Population) item(id int64) *Item {
	r := p.stream(itemKey, 0, 0, id)
	return &Item{ID: id, Price: r.between(1_00, 100_00), Image: r.between(1, 10_000), Name: r.text(14, 24), Data: r.original(26, 50)}
}

// WarehouseTax is a rate from 0 to 0.2000.
func (p *Population) WarehouseTax(warehouse int64) int64 {
	r := p.stream(warehouseKey, warehouse, 0, 0)
	return r.between(0, 2000)
}

// DistrictTax is a rate from 0 to 0.2000.
func (p *Population) DistrictTax(warehouse, district int64) int64 {
	r := p.stream(districtKey, warehouse, district, 0)
	return r.between(0, 2000)
}

// In cents.
const (
	openingPayment = 10_00
	creditLimit    = 50_000_00
)

func (p *Population) districtYTD() int64 { return p.config.Customers * openingPayment }

func (p *Population) warehouse(id int64) *Warehouse {
	r := p.stream(warehouseKey, id, 0, 0)
	return &Warehouse{ID: id, Tax: r.between(0, 2000), YTD: Districts * p.districtYTD(), Name: r.text(6, 10), Street1: r.text(10, 20),
		Street2: r.text(10, 20), City: r.text(10, 20), State: r.text(2, 2), Zip: r.zip()}
}

func (p *Population) district(warehouse, id int64) *District {
	r := p.stream(districtKey, warehouse, id, 0)
	return &District{Warehouse: warehouse, ID: id, Tax: r.between(0, 2000), YTD: p.districtYTD(), NextOrder: p.config.Customers + 1,
		Name: r.text(6, 10), Street1: r.text(10, 20), Street2: r.text(10, 20), City: r.text(10, 20), State: r.text(2, 2), Zip: r.zip()}
}

// Discount is a customer's rate from 0 to 0.5000.
func (p *Population) Discount(warehouse, district, customer int64) int64 {
	r := p.stream(customerKey, warehouse, district, customer)
	return r.between(0, 5000)
}

// called draws a customer's discount and names, and returns the stream behind them.
func (p *Population) called(warehouse, district, customer int64) (discount, name int64, first string, r random) {
	r = p.stream(customerKey, warehouse, district, customer)
	discount, name, first = r.between(0, 5000), r.nonUniform(255, p.constants.loaded, 0, p.config.names()-1), r.text(8, 16)
	if customer <= p.config.names() {
		name = customer - 1
	}
	return discount, name, first, r
}

func (p *Population) customer(warehouse, district, id int64) *Customer {
	discount, name, first, r := p.called(warehouse, district, id)
	credit := "GC"
	if r.percent(10) {
		credit = badCredit
	}
	return &Customer{Warehouse: warehouse, District: district, ID: id, Discount: discount, Balance: -openingPayment, YTDPayment: openingPayment,
		Payments: 1, CreditLimit: creditLimit, Since: p.moment, First: first, Middle: "OE", Last: LastName(name),
		Street1: r.text(10, 20), Street2: r.text(10, 20), City: r.text(10, 20), State: r.text(2, 2), Zip: r.zip(), Phone: r.number(16),
		Credit: credit, Data: r.text(300, 500)}
}

// badCredit marks customers whose payments are noted in their data.
const badCredit = "BC"

// loadedID is the negative, unique operation of an opening payment or order.
func (p *Population) loadedID(warehouse, district, number int64) int64 {
	return -(((warehouse-1)*Districts+district-1)*p.config.Customers + number)
}

func (p *Population) payment(warehouse, district, customer int64) *Payment {
	r := p.stream(paymentKey, warehouse, district, customer)
	return &Payment{Operation: p.loadedID(warehouse, district, customer), CustomerWarehouse: warehouse, CustomerDistrict: district,
		Customer: customer, Warehouse: warehouse, District: district, Amount: openingPayment, Date: p.moment, Data: r.text(12, 24)}
}

func (p *Population) stock(warehouse, item int64) *Stock {
	r := p.stream(stockKey, warehouse, 0, item)
	s := &Stock{Warehouse: warehouse, Item: item, Quantity: r.between(10, 100)}
	for i := range s.Dist {
		s.Dist[i] = r.text(24, 24)
	}
	s.Data = r.original(26, 50)
	return s
}

// distInfo is a stock's text for orders of a district.
func (p *Population) distInfo(warehouse, item, district int64) (info string) {
	r := p.stream(stockKey, warehouse, 0, item)
	r.between(10, 100) // the quantity
	for range district {
		info = r.text(24, 24)
	}
	return info
}

func (p *Population) quantity(warehouse, item int64) int64 {
	r := p.stream(stockKey, warehouse, 0, item)
	return r.between(10, 100)
}

// order is an opening order; its lines, appended to into, have texts if texts is true.
func (p *Population) order(warehouse, district, id int64, texts bool, into []OrderLine) (Order, []OrderLine) {
	r := p.stream(orderKey, warehouse, district, id)
	o := Order{Warehouse: warehouse, District: district, ID: id, Customer: p.orderedBy(warehouse, district, id),
		LineCount: r.between(minLines, MaxLines), AllLocal: 1, Entered: p.moment, Operation: p.loadedID(warehouse, district, id)}
	carrier, done := r.between(1, 10), id <= p.config.delivered()
	if done {
		o.Carrier = carrier
	}
	for n := range o.LineCount {
		l := OrderLine{Warehouse: warehouse, District: district, Order: id, Number: n + 1, Item: r.between(1, p.config.Items),
			Supply: warehouse, Quantity: 5, Amount: r.between(1, 9999_99)}
		if done {
			l.Amount, l.Delivered = 0, p.moment
		}
		if info := r; texts { // so that the texts change nothing of what follows
			l.DistInfo = info.text(24, 24)
		}
		into = append(into, l)
	}
	return o, into
}

// districtNumber counts from 0 over all warehouses.
func districtNumber(warehouse, district int64) int64 { return (warehouse-1)*Districts + district - 1 }

// orderedBy is an opening order's customer: a permutation of the district's customers.
func (p *Population) orderedBy(warehouse, district, order int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := districtNumber(warehouse, district)
	all := p.customers[key]
	if all == nil {
		r := p.stream(permutationKey, warehouse, district, 0)
		all = make([]int16, p.config.Customers)
		for i := range all {
			all[i] = int16(i + 1)
		}
		workload.Shuffle(&r.Random, all)
		p.customers[key] = all
	}
	return int64(all[order-1])
}

// Named is the customer with this last name in the middle by first name (clause 2.5.2.2); 0 if
// there is none.
func (p *Population) Named(warehouse, district, name int64) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := districtNumber(warehouse, district)
	all := p.named[key]
	if all == nil {
		all = p.byName(warehouse, district)
		p.named[key] = all
	}
	if len(all[name]) == 0 {
		return 0
	}
	return int64(all[name][Middle(len(all[name]))])
}

// Middle is the index of the customer chosen from n of one name: n/2 rounded up, counted from 1.
func Middle(n int) int { return (n+1)/2 - 1 }

// byName are a district's customers by number of last name, sorted by first name.
func (p *Population) byName(warehouse, district int64) [][]int16 {
	all := make([][]int16, p.config.names())
	firsts := make([]string, p.config.Customers+1)
	for id := int64(1); id <= p.config.Customers; id++ {
		_, name, first, _ := p.called(warehouse, district, id)
		all[name], firsts[id] = append(all[name], int16(id)), first
	}
	for _, ids := range all {
		slices.SortFunc(ids, func(a, b int16) int { return cmp.Or(cmp.Compare(firsts[a], firsts[b]), cmp.Compare(a, b)) })
	}
	return all
}
