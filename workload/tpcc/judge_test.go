package tpcc

import (
	"context"
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
type openingStore struct {
	rows       Rows
	deliveries []Delivery
}

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
		var rows Rows
		b.fill(n, &rows)
		s.rows.Items = append(s.rows.Items, rows.Items...)
		s.rows.Warehouses = append(s.rows.Warehouses, rows.Warehouses...)
		s.rows.Districts = append(s.rows.Districts, rows.Districts...)
		s.rows.Customers = append(s.rows.Customers, rows.Customers...)
		s.rows.Payments = append(s.rows.Payments, rows.Payments...)
		s.rows.Orders = append(s.rows.Orders, rows.Orders...)
		s.rows.NewOrders = append(s.rows.NewOrders, rows.NewOrders...)
		s.rows.Lines = append(s.rows.Lines, rows.Lines...)
		s.rows.Stock = append(s.rows.Stock, rows.Stock...)
	}
	return s
}

func (s *openingStore) Read(_ context.Context, v Visitor) error {
	return firstError(
		each(s.rows.Items, v.Item), each(s.rows.Warehouses, v.Warehouse), each(s.rows.Districts, v.District),
		each(s.rows.Customers, v.Customer), each(s.rows.Payments, v.Payment), each(s.rows.Orders, v.Order),
		each(s.rows.NewOrders, v.NewOrder), each(s.rows.Lines, v.Line), each(s.rows.Stock, v.Stock), each(s.deliveries, v.Delivery))
}

func each[T any](rows []T, use func(T) error) func() error {
	return func() error {
		for _, r := range rows {
			if err := use(r); err != nil {
				return err
			}
		}
		return nil
	}
}

func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

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
	expect.NoError(t, Save(t.Context(), s.Read, e.State, func(int64) {}))
	j, err := Judge(smallConfig(), testSeed, e)
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
		expect.NoError(t, Save(t.Context(), s.Read, path, func(int64) {}))
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
	last := func(s *openingStore) *Order { return &s.rows.Orders[len(s.rows.Orders)-1] }
	for number, change := range map[int]func(*openingStore){
		1:  func(s *openingStore) { s.rows.Warehouses[1].YTD++ },
		2:  func(s *openingStore) { s.rows.Districts[3].NextOrder++ },
		3:  func(s *openingStore) { s.rows.NewOrders = slices.Delete(s.rows.NewOrders, 1, 2) },
		4:  func(s *openingStore) { s.rows.Lines = s.rows.Lines[1:] },
		5:  func(s *openingStore) { last(s).Carrier = 3 },
		6:  func(s *openingStore) { last(s).LineCount-- },
		7:  func(s *openingStore) { s.rows.Lines[len(s.rows.Lines)-1].Delivered = 9 },
		8:  func(s *openingStore) { s.rows.Payments[0].Warehouse = 2 },
		9:  func(s *openingStore) { s.rows.Payments[0].District = 5 },
		10: func(s *openingStore) { s.rows.Customers[7].Balance++ },
		11: func(s *openingStore) { s.rows.NewOrders = s.rows.NewOrders[1:] },
		12: func(s *openingStore) { s.rows.Customers[7].YTDPayment++ },
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
		s.rows.Payments = append(s.rows.Payments, Payment{Operation: in.Operation, CustomerWarehouse: in.Customer.Warehouse,
			CustomerDistrict: in.Customer.District, Customer: customer, Warehouse: in.Warehouse, District: in.District, Amount: in.Amount,
			Date: inputs.Moment(in.Operation), Data: s.rows.Warehouses[in.Warehouse-1].Name + "    " + s.rows.Districts[districtNumber(in.Warehouse, in.District)].Name})
		s.rows.Warehouses[in.Warehouse-1].YTD += in.Amount
		s.rows.Districts[districtNumber(in.Warehouse, in.District)].YTD += in.Amount
		for i := range s.rows.Customers {
			c := &s.rows.Customers[i]
			if c.Warehouse == in.Customer.Warehouse && c.District == in.Customer.District && c.ID == customer {
				c.Balance, c.YTDPayment, c.Payments = c.Balance-in.Amount, c.YTDPayment+in.Amount, c.Payments+1
				if c.Credit == badCredit {
					c.Data = paymentNote(&s.rows.Payments[len(s.rows.Payments)-1]) + c.Data
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
	j, err := Judge(smallConfig(), testSeed, e)
	expect.NoError(t, err)
	for _, r := range j.Results {
		if r.Verdict != check.Unknown {
			t.Errorf("%s is %v", r.Name, r.Verdict)
		}
	}
}
