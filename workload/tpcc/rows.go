package tpcc

import "assay/store"

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

// ItemColumns maps Item, as the functions below map the others: key, numbers, texts.
func ItemColumns() store.Columns[Item] {
	return store.Columns[Item]{Names: []string{"i_id", "i_price", "i_im_id", "i_name", "i_data"},
		Fields: func(r *Item) []any { return []any{&r.ID, &r.Price, &r.Image, &r.Name, &r.Data} }}
}

func WarehouseColumns() store.Columns[Warehouse] {
	return store.Columns[Warehouse]{
		Names: []string{"w_id", "w_tax", "w_ytd", "w_name", "w_street_1", "w_street_2", "w_city", "w_state", "w_zip"},
		Fields: func(r *Warehouse) []any {
			return []any{&r.ID, &r.Tax, &r.YTD, &r.Name, &r.Street1, &r.Street2, &r.City, &r.State, &r.Zip}
		}}
}

func DistrictColumns() store.Columns[District] {
	return store.Columns[District]{
		Names: []string{"d_w_id", "d_id", "d_tax", "d_ytd", "d_next_o_id",
			"d_name", "d_street_1", "d_street_2", "d_city", "d_state", "d_zip"},
		Fields: func(r *District) []any {
			return []any{&r.Warehouse, &r.ID, &r.Tax, &r.YTD, &r.NextOrder,
				&r.Name, &r.Street1, &r.Street2, &r.City, &r.State, &r.Zip}
		}}
}

func CustomerColumns() store.Columns[Customer] {
	return store.Columns[Customer]{
		Names: []string{"c_w_id", "c_d_id", "c_id", "c_discount", "c_balance", "c_ytd_payment", "c_payment_cnt", "c_delivery_cnt",
			"c_credit_lim", "c_since", "c_first", "c_middle", "c_last", "c_street_1", "c_street_2", "c_city", "c_state", "c_zip",
			"c_phone", "c_credit", "c_data"},
		Fields: func(r *Customer) []any {
			return []any{&r.Warehouse, &r.District, &r.ID, &r.Discount, &r.Balance, &r.YTDPayment, &r.Payments, &r.Deliveries,
				&r.CreditLimit, &r.Since, &r.First, &r.Middle, &r.Last, &r.Street1, &r.Street2, &r.City, &r.State, &r.Zip,
				&r.Phone, &r.Credit, &r.Data}
		}}
}

func PaymentColumns() store.Columns[Payment] {
	return store.Columns[Payment]{
		Names: []string{"h_operation", "h_c_w_id", "h_c_d_id", "h_c_id", "h_w_id", "h_d_id", "h_amount", "h_date", "h_data"},
		Fields: func(r *Payment) []any {
			return []any{&r.Operation, &r.CustomerWarehouse, &r.CustomerDistrict, &r.Customer, &r.Warehouse, &r.District,
				&r.Amount, &r.Date, &r.Data}
		}}
}

func OrderColumns() store.Columns[Order] {
	return store.Columns[Order]{
		Names: []string{"o_w_id", "o_d_id", "o_id", "o_c_id", "o_carrier_id", "o_ol_cnt", "o_all_local", "o_entry_d",
			"o_operation", "o_delivery"},
		Fields: func(r *Order) []any {
			return []any{&r.Warehouse, &r.District, &r.ID, &r.Customer, &r.Carrier, &r.LineCount, &r.AllLocal, &r.Entered,
				&r.Operation, &r.Delivery}
		}}
}

func NewOrderColumns() store.Columns[NewOrder] {
	return store.Columns[NewOrder]{Names: []string{"no_w_id", "no_d_id", "no_o_id"},
		Fields: func(r *NewOrder) []any { return []any{&r.Warehouse, &r.District, &r.Order} }}
}

func OrderLineColumns() store.Columns[OrderLine] {
	return store.Columns[OrderLine]{
		Names: []string{"ol_w_id", "ol_d_id", "ol_o_id", "ol_number", "ol_i_id", "ol_supply_w_id", "ol_quantity", "ol_amount",
			"ol_delivery_d", "ol_dist_info"},
		Fields: func(r *OrderLine) []any {
			return []any{&r.Warehouse, &r.District, &r.Order, &r.Number, &r.Item, &r.Supply, &r.Quantity, &r.Amount,
				&r.Delivered, &r.DistInfo}
		}}
}

func StockColumns() store.Columns[Stock] {
	return store.Columns[Stock]{
		Names: []string{"s_w_id", "s_i_id", "s_quantity", "s_ytd", "s_order_cnt", "s_remote_cnt",
			"s_dist_01", "s_dist_02", "s_dist_03", "s_dist_04", "s_dist_05", "s_dist_06", "s_dist_07", "s_dist_08",
			"s_dist_09", "s_dist_10", "s_data"},
		Fields: func(r *Stock) []any {
			fields := []any{&r.Warehouse, &r.Item, &r.Quantity, &r.YTD, &r.Orders, &r.Remote}
			for i := range r.Dist {
				fields = append(fields, &r.Dist[i])
			}
			return append(fields, &r.Data)
		}}
}

func DeliveryColumns() store.Columns[Delivery] {
	return store.Columns[Delivery]{Names: []string{"dl_operation", "dl_w_id", "dl_carrier_id", "dl_entry_d", "dl_orders"},
		Fields: func(r *Delivery) []any { return []any{&r.Operation, &r.Warehouse, &r.Carrier, &r.Entered, &r.Orders} }}
}

func numbers(fields []any) []any {
	for i, field := range fields {
		if _, is := field.(*int64); !is {
			return fields[:i]
		}
	}
	return fields
}
