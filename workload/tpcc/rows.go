package tpcc

// Item is a row of table item, and the types below are of the others. Money is in cents. Rates
// are integers with four decimals (1250 is 0.1250). Times are milliseconds since 1970. 0 stands
// for null.
type Item struct {
	kept
	ID, Price, Image int64
	Name, Data       string
}

type Warehouse struct {
	kept
	ID, Tax, YTD                             int64
	Name, Street1, Street2, City, State, Zip string
}

// District is a row of table district.
type District struct {
	kept
	Warehouse, ID, Tax, YTD, NextOrder       int64
	Name, Street1, Street2, City, State, Zip string
}

// Customer is a row of table customer.
type Customer struct {
	kept
	Warehouse, District, ID                   int64
	Discount, Balance, YTDPayment             int64
	Payments, Deliveries, CreditLimit, Since  int64
	First, Middle, Last                       string
	Street1, Street2, City, State, Zip, Phone string
	Credit, Data                              string
}

// Payment is a row of the table history.
type Payment struct {
	kept
	// Operation made the payment; below 0 if it was loaded.
	Operation                                     int64
	CustomerWarehouse, CustomerDistrict, Customer int64
	Warehouse, District, Amount, Date             int64
	Data                                          string
}

type Order struct {
	Warehouse, District, ID, Customer int64
	// Carrier is 0 until delivery.
	Carrier, LineCount, AllLocal, Entered int64
	// Operation made the order, below 0 if loaded. Delivery delivered it; 0 if none of the run
	// did.
	Operation, Delivery int64
}

// NewOrder is an undelivered order.
type NewOrder struct{ Warehouse, District, Order int64 }

type OrderLine struct {
	kept
	Warehouse, District, Order, Number int64
	Item, Supply, Quantity, Amount     int64
	// Delivered is 0 until delivery.
	Delivered int64
	DistInfo  string
}

// Stock is a row of table stock.
type Stock struct {
	kept
	Warehouse, Item, Quantity, YTD, Orders, Remote int64
	Dist                                           [Districts]string
	Data                                           string
}

// Delivery is the result of a Delivery, which the specification puts into a file.
type Delivery struct {
	Operation, Warehouse, Carrier, Entered int64
	// Orders counts the orders delivered, at most one per district.
	Orders int64
}

// row is a row of one of the tables.
type row interface {
	// table is an index into tables.
	table() int
	// fields point to the values of the table's columns.
	fields() []any
}

func (r *Item) table() int      { return tableItem }
func (r *Warehouse) table() int { return tableWarehouse }
func (r *District) table() int  { return tableDistrict }
func (r *Customer) table() int  { return tableCustomer }
func (r *Payment) table() int   { return tableHistory }
func (r *Order) table() int     { return tableOrders }
func (r *NewOrder) table() int  { return tableNewOrder }
func (r *OrderLine) table() int { return tableOrderLine }
func (r *Stock) table() int     { return tableStock }
func (r *Delivery) table() int  { return tableDelivery }

func (r *Item) fields() []any { return []any{&r.ID, &r.Price, &r.Image, &r.Name, &r.Data} }

func (r *Warehouse) fields() []any {
	return []any{&r.ID, &r.Tax, &r.YTD, &r.Name, &r.Street1, &r.Street2, &r.City, &r.State, &r.Zip}
}

func (r *District) fields() []any {
	return []any{&r.Warehouse, &r.ID, &r.Tax, &r.YTD, &r.NextOrder, &r.Name, &r.Street1, &r.Street2, &r.City, &r.State, &r.Zip}
}

func (r *Customer) fields() []any {
	return []any{&r.Warehouse, &r.District, &r.ID, &r.Discount, &r.Balance, &r.YTDPayment, &r.Payments, &r.Deliveries, &r.CreditLimit, &r.Since,
		&r.First, &r.Middle, &r.Last, &r.Street1, &r.Street2, &r.City, &r.State, &r.Zip, &r.Phone, &r.Credit, &r.Data}
}

func (r *Payment) fields() []any {
	return []any{&r.Operation, &r.CustomerWarehouse, &r.CustomerDistrict, &r.Customer, &r.Warehouse, &r.District, &r.Amount, &r.Date, &r.Data}
}

func (r *Order) fields() []any {
	return []any{&r.Warehouse, &r.District, &r.ID, &r.Customer, &r.Carrier, &r.LineCount, &r.AllLocal, &r.Entered, &r.Operation, &r.Delivery}
}

func (r *NewOrder) fields() []any { return []any{&r.Warehouse, &r.District, &r.Order} }

func (r *OrderLine) fields() []any {
	return []any{&r.Warehouse, &r.District, &r.Order, &r.Number, &r.Item, &r.Supply, &r.Quantity, &r.Amount, &r.Delivered, &r.DistInfo}
}

func (r *Stock) fields() []any {
	fields := []any{&r.Warehouse, &r.Item, &r.Quantity, &r.YTD, &r.Orders, &r.Remote}
	for i := range r.Dist {
		fields = append(fields, &r.Dist[i])
	}
	return append(fields, &r.Data)
}

func (r *Delivery) fields() []any {
	return []any{&r.Operation, &r.Warehouse, &r.Carrier, &r.Entered, &r.Orders}
}
