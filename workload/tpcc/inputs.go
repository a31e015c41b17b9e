package tpcc

import "assay/workload"

// NewOrderInput is of clause 2.4.1.
type NewOrderInput struct {
	Operation                     int64
	Warehouse, District, Customer int64
	Lines                         []LineInput
	// Moment is in milliseconds since 1970.
	Moment int64
}

// LineInput is a line of a New-Order. An item that does not exist rolls the transaction back.
type LineInput struct{ Item, Supply, Quantity int64 }

// AllLocal is 1 if the order's own warehouse supplies all lines, else 0.
func (n *NewOrderInput) AllLocal() int64 {
	for _, l := range n.Lines {
		if l.Supply != n.Warehouse {
			return 0
		}
	}
	return 1
}

// CustomerInput names a customer by ID or, if that is 0, by last name.
type CustomerInput struct {
	Warehouse, District, ID int64
	// Name is the number of the last name Last.
	Name int64
	Last string
}

// PaymentInput is of clause 2.5.1.
type PaymentInput struct {
	Operation           int64
	Warehouse, District int64
	Customer            CustomerInput
	Amount, Moment      int64
}

// OrderStatusInput is of clause 2.6.1.
type OrderStatusInput struct{ Customer CustomerInput }

// DeliveryInput is of clause 2.7.1.
type DeliveryInput struct{ Operation, Warehouse, Carrier, Moment int64 }

// StockLevelInput is of clause 2.8.1.
type StockLevelInput struct{ Warehouse, District, Threshold int64 }

// The kinds of operations in the history, with their Values (see Reply).
const (
	// KindNewOrder: the order's number and total amount in cents.
	KindNewOrder uint8 = 1
	// KindPayment: the customer and the balance that the payment left.
	KindPayment uint8 = 2
	// KindOrderStatus: the customer, the balance, the last order's number, lines and amount.
	KindOrderStatus uint8 = 3
	// KindDelivery: by district the number of the delivered order, 0 for none.
	KindDelivery uint8 = 4
	// KindStockLevel: the number of items below the threshold.
	KindStockLevel uint8 = 5
)

// OperationID is the id of operation seq of a client. It is above 0, which means no operation.
func OperationID(client int, seq uint64) int64 { return workload.OperationID(client, seq) + 1 }

// SplitID is the inverse of OperationID; ok is false for an impossible id.
func SplitID(id int64) (client int, seq uint64, ok bool) {
	return workload.SplitOperationID(id - 1)
}

// The mix of clause 5.2.3 in percent, dealt from shuffled decks of a hundred (clause 5.2.4.2).
const (
	deckSize                                               = 100
	newOrders, payments, statuses, deliveries, stockChecks = 45, 43, 4, 4, 4
)

// Inputs computes an operation's inputs. It is safe for concurrent use.
type Inputs struct{ *Population }

// NewInputs returns the inputs over an opening state.
func NewInputs(p *Population) *Inputs { return &Inputs{p} }

func (in *Inputs) Kind(client int, seq uint64) uint8 {
	return in.deck(client, seq/deckSize)[seq%deckSize]
}

type deck struct {
	made   bool
	number uint64
	cards  [deckSize]uint8
}

func (d *deck) kind(in *Inputs, client int, seq uint64) uint8 {
	if number := seq / deckSize; !d.made || number != d.number {
		d.made, d.number, d.cards = true, number, in.deck(client, number)
	}
	return d.cards[seq%deckSize]
}

func (in *Inputs) deck(client int, number uint64) (cards [deckSize]uint8) {
	n := 0
	for i, count := range [...]int{newOrders, payments, statuses, deliveries, stockChecks} {
		for range count {
			cards[n] = uint8(i) + KindNewOrder
			n++
		}
	}
	r := workload.NewRandom(in.seed^deckKey, uint64(workload.OperationID(client, number)))
	workload.Shuffle(&r, cards[:])
	return cards
}

// home draws an operation's warehouse and district. With think times they are its client's
// terminal, ten to a warehouse; otherwise there are fewer clients than terminals.
func (in *Inputs) home(id int64) (r random, warehouse, district int64) {
	r = random{workload.NewRandom(in.seed, uint64(id))}
	warehouse, district = r.between(1, in.config.Warehouses), r.between(1, Districts)
	if in.config.ThinkTimes {
		client, _, _ := SplitID(id)
		terminal := int64(client)
		warehouse, district = terminal/Districts%in.config.Warehouses+1, terminal%Districts+1
	}
	return r, warehouse, district
}

// elsewhere draws another warehouse if there is one.
func (in *Inputs) elsewhere(r *random, warehouse int64) int64 {
	if in.config.Warehouses == 1 {
		return warehouse
	}
	other := r.between(1, in.config.Warehouses-1)
	if other >= warehouse {
		other++
	}
	return other
}

// UnusedItem is an item that does not exist.
func (in *Inputs) UnusedItem() int64 { return in.config.Items + 1 }

// NewOrder returns an operation's input.
func (in *Inputs) NewOrder(id int64) NewOrderInput {
	r, warehouse, _ := in.home(id)
	n := NewOrderInput{Operation: id, Moment: in.Moment(id), Warehouse: warehouse, District: r.between(1, Districts),
		Customer: r.nonUniform(1023, in.constants.customer, 1, in.config.Customers)}
	count, rolledBack := r.between(minLines, MaxLines), r.percent(1)
	n.Lines = make([]LineInput, count)
	for i := range n.Lines {
		l := &n.Lines[i]
		l.Item, l.Supply = r.nonUniform(8191, in.constants.item, 1, in.config.Items), warehouse
		if r.percent(1) {
			l.Supply = in.elsewhere(&r, warehouse)
		}
		l.Quantity = r.between(1, 10)
	}
	if rolledBack {
		n.Lines[count-1].Item = in.UnusedItem()
	}
	return n
}

// RolledBack reports whether a New-Order asks for UnusedItem.
func (in *Inputs) RolledBack(n *NewOrderInput) bool {
	return n.Lines[len(n.Lines)-1].Item == in.UnusedItem()
}

// drawCustomer draws a customer, in 60 % by last name.
func (in *Inputs) drawCustomer(r *random, warehouse, district int64) CustomerInput {
	c := CustomerInput{Warehouse: warehouse, District: district}
	if r.percent(60) {
		c.Name = r.nonUniform(255, in.constants.last, 0, in.config.names()-1)
		c.Last = LastName(c.Name)
		return c
	}
	c.ID = r.nonUniform(1023, in.constants.customer, 1, in.config.Customers)
	return c
}

// Resolve returns a customer's id.
func (in *Inputs) Resolve(c *CustomerInput) int64 {
	if c.ID != 0 {
		return c.ID
	}
	return in.Named(c.Warehouse, c.District, c.Name)
}

func (in *Inputs) Payment(id int64) PaymentInput {
	r, warehouse, _ := in.home(id)
	p := PaymentInput{Operation: id, Moment: in.Moment(id), Warehouse: warehouse, District: r.between(1, Districts), Amount: r.between(1_00, 5000_00)}
	at, district := warehouse, p.District
	if !r.percent(85) {
		at, district = in.elsewhere(&r, warehouse), r.between(1, Districts)
	}
	p.Customer = in.drawCustomer(&r, at, district)
	return p
}

func (in *Inputs) OrderStatus(id int64) OrderStatusInput {
	r, warehouse, _ := in.home(id)
	return OrderStatusInput{in.drawCustomer(&r, warehouse, r.between(1, Districts))}
}

func (in *Inputs) Delivery(id int64) DeliveryInput {
	r, warehouse, _ := in.home(id)
	return DeliveryInput{Operation: id, Moment: in.Moment(id), Warehouse: warehouse, Carrier: r.between(1, 10)}
}

func (in *Inputs) StockLevel(id int64) StockLevelInput {
	r, warehouse, district := in.home(id)
	return StockLevelInput{Warehouse: warehouse, District: district, Threshold: r.between(10, 20)}
}
