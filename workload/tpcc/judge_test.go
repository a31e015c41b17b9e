package tpcc

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
	"assay/workload/definition"
)

// openingStore has opening rows, changed by a test.
type openingStore struct{ rows }

func smallConfig() Config {
	return Config{Warehouses: 2, Items: 100, Customers: 10, Loaders: 1}
}

const testSeed = 3

// opening are all opening rows.
func opening(t *testing.T) *openingStore {
	t.Helper()
	expect.NoError(t, smallConfig().Validate())
	s := &openingStore{}
	b := newBatches(NewPopulation(smallConfig(), testSeed))
	for n := range b.count() {
		for table, of := range b.fill(n) {
			s.rows[table] = append(s.rows[table], of...)
		}
	}
	return s
}

func (s *openingStore) read(use func(row) error) error {
	for _, of := range s.rows {
		for _, r := range of {
			if err := use(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *openingStore) warehouse(i int64) *Warehouse { return s.rows[tableWarehouse][i].(*Warehouse) }
func (s *openingStore) district(i int64) *District   { return s.rows[tableDistrict][i].(*District) }
func (s *openingStore) customer(i int) *Customer     { return s.rows[tableCustomer][i].(*Customer) }
func (s *openingStore) payment(i int) *Payment       { return s.rows[tableHistory][i].(*Payment) }
func (s *openingStore) order(i int) *Order           { return s.rows[tableOrders][i].(*Order) }
func (s *openingStore) line(i int) *OrderLine        { return s.rows[tableOrderLine][i].(*OrderLine) }

func (s *openingStore) without(table, i int) { s.rows[table] = slices.Delete(s.rows[table], i, i+1) }

// judgedRows are the results for these rows after these operations.
func judgedRows(t *testing.T, s *openingStore, ops ...history.Op) []check.Result {
	t.Helper()
	folder := t.TempDir()
	e := definition.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, FileState)}
	w, err := history.Create(e.History, history.Header{Workload: Name})
	expect.NoError(t, err)
	for i := range ops {
		expect.NoError(t, w.Record(&ops[i]))
	}
	expect.NoError(t, w.Close())
	expect.NoError(t, save(e.State, func(int64) {}, s.read))
	config := smallConfig()
	j, err := config.Judge(t.Context(), testSeed, e)
	expect.NoError(t, err)
	return j.Results
}

// kindsOf are the kinds of evidence of a check.
func kindsOf(results []check.Result, name string) (kinds []string) {
	for _, r := range results {
		if r.Name == name {
			for _, e := range r.Evidence {
				kinds = append(kinds, e.Kind)
			}
		}
	}
	return kinds
}

// TestOrderNumbersHaveNoGap: a number that was taken from d_next_o_id is an order's.
func TestOrderNumbersHaveNoGap(t *testing.T) {
	for _, c := range []struct {
		next, found int64
	}{{12, 1}, {11, 0}} {
		s := opening(t)
		path := filepath.Join(t.TempDir(), FileState)
		expect.NoError(t, save(path, func(int64) {}, s.read))
		j := newJudge(smallConfig(), testSeed, definition.Evidence{State: path})
		expect.NoError(t, j.readState())
		d := &j.districts[districtNumber(1, 1)]
		d.orders, d.next = append(d.orders, orderRecord{}), c.next
		if j.orderConditions(1, 1); j.orders.Found != c.found {
			t.Errorf("%+v: %d found: %+v", c, j.orders.Found, j.orders.Evidence)
		}
	}
}

// TestEachConditionIsNamed breaks the opening rows in one place for each of the twelve
// conditions.
func TestEachConditionIsNamed(t *testing.T) {
	for _, r := range judgedRows(t, opening(t)) {
		want := check.Valid
		if r.Name != CheckConsistency && r.Name != CheckStock {
			want = check.Unknown // nothing was acknowledged, and no answer was compared
		}
		if r.Verdict != want || r.Found > 0 {
			t.Errorf("opening rows: %s is %v: %s %+v", r.Name, r.Verdict, r.Detail, r.Evidence)
		}
	}
	last := func(s *openingStore) *Order { return s.order(len(s.rows[tableOrders]) - 1) }
	for number, change := range map[int]func(*openingStore){
		1:  func(s *openingStore) { s.warehouse(1).YTD++ },
		2:  func(s *openingStore) { s.district(3).NextOrder++ },
		3:  func(s *openingStore) { s.without(tableNewOrder, 1) },
		4:  func(s *openingStore) { s.without(tableOrderLine, 0) },
		5:  func(s *openingStore) { last(s).Carrier = 3 },
		6:  func(s *openingStore) { last(s).LineCount-- },
		7:  func(s *openingStore) { s.line(len(s.rows[tableOrderLine]) - 1).Delivered = 9 },
		8:  func(s *openingStore) { s.payment(0).Warehouse = 2 },
		9:  func(s *openingStore) { s.payment(0).District = 5 },
		10: func(s *openingStore) { s.customer(7).Balance++ },
		11: func(s *openingStore) { s.without(tableNewOrder, 0) },
		12: func(s *openingStore) { s.customer(7).YTDPayment++ },
	} {
		s := opening(t)
		change(s)
		results := judgedRows(t, s)
		if kinds := kindsOf(results, CheckConsistency); !slices.Contains(kinds, fmt.Sprintf("condition %d", number)) {
			t.Errorf("condition %d: %v", number, kinds)
		}
	}
}

// TestAccounts: what was acknowledged and is not there is lost, what failed and is there
// is found, and what ended unknown may be either.
func TestAccounts(t *testing.T) {
	inputs := NewInputs(NewPopulation(smallConfig(), testSeed))
	seq := uint64(0)
	for inputs.Kind(0, seq) != KindPayment {
		seq++
	}
	in := inputs.Payment(OperationID(0, seq))
	customer := inputs.Resolve(&in.Customer)
	pay := func(s *openingStore) {
		paid := &Payment{Operation: in.Operation, CustomerWarehouse: in.Customer.Warehouse,
			CustomerDistrict: in.Customer.District, Customer: customer, Warehouse: in.Warehouse, District: in.District, Amount: in.Amount,
			Date: inputs.Moment(in.Operation), Data: s.warehouse(in.Warehouse-1).Name + "    " + s.district(districtNumber(in.Warehouse, in.District)).Name}
		s.add(paid)
		s.warehouse(in.Warehouse - 1).YTD += in.Amount
		s.district(districtNumber(in.Warehouse, in.District)).YTD += in.Amount
		for i := range s.rows[tableCustomer] {
			c := s.customer(i)
			if c.Warehouse == in.Customer.Warehouse && c.District == in.Customer.District && c.ID == customer {
				c.Balance, c.YTDPayment, c.Payments = c.Balance-in.Amount, c.YTDPayment+in.Amount, c.Payments+1
				if c.Credit == badCredit {
					c.Data = paymentNote(paid) + c.Data
				}
			}
		}
	}
	for _, x := range []struct {
		outcome history.Outcome
		paid    bool
		want    []string
	}{
		{history.Committed, true, nil},
		{history.Committed, false, []string{kindLost}},
		{history.Failed, true, []string{kindFailed}},
		{history.Failed, false, nil},
		{history.Unknown, true, nil},
		{history.Unknown, false, nil},
	} {
		s := opening(t)
		if x.paid {
			pay(s)
		}
		results := judgedRows(t, s, history.Op{Seq: seq, Attempt: 1, Last: true, Kind: KindPayment, Outcome: x.outcome, Final: x.outcome})
		if got := kindsOf(results, CheckPayments); !slices.Equal(got, x.want) {
			t.Errorf("%v, paid %t: %v, want %v", x.outcome, x.paid, got, x.want)
		}
		want := check.Unknown // no payment was acknowledged
		switch {
		case x.want != nil:
			want = check.Violated
		case x.outcome == history.Committed:
			want = check.Valid
		}
		if verdict := results[2].Verdict; verdict != want || (check.Combine(results) == check.Violated) != (x.want != nil) {
			t.Errorf("%v, paid %t: %v", x.outcome, x.paid, results)
		}
	}
}

// TestWithoutState: nothing is valid if nothing was read back.
func TestWithoutState(t *testing.T) {
	folder := t.TempDir()
	e := definition.Evidence{History: filepath.Join(folder, "history"), State: filepath.Join(folder, FileState)}
	w, err := history.Create(e.History, history.Header{Workload: Name})
	expect.NoError(t, err)
	expect.NoError(t, w.Close())
	config := smallConfig()
	j, err := config.Judge(t.Context(), testSeed, e)
	expect.NoError(t, err)
	for _, r := range j.Results {
		if r.Verdict != check.Unknown {
			t.Errorf("%s is %v", r.Name, r.Verdict)
		}
	}
}
