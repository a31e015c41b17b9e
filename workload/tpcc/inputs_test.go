package tpcc

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/load"
	"assay/workload"
)

func testInputs(c Config) *Inputs { return NewInputs(NewPopulation(c, 11)) }

// TestLastNames holds the example of clause 4.3.2.3.
func TestLastNames(t *testing.T) {
	for number, want := range map[int64]string{371: "PRICALLYOUGHT", 40: "BARPRESBAR", 0: "BARBARBAR", 999: "EINGEINGEING"} {
		if got := LastName(number); got != want {
			t.Errorf("%d: %s, want %s", number, got, want)
		}
	}
}

// TestConstants holds clause 2.1.6.1 for many seeds.
func TestConstants(t *testing.T) {
	for seed := range uint64(2000) {
		c := drawConstants(seed)
		delta := max(c.loaded-c.last, c.last-c.loaded)
		if delta < 65 || delta > 119 || delta == 96 || delta == 112 || c.customer > 1023 || c.item > 8191 {
			t.Fatalf("seed %d: %+v", seed, c)
		}
	}
}

// TestMix: each deck has the standard mix, in orders of its own.
func TestMix(t *testing.T) {
	in := testInputs(Defaults())
	seen := map[[deckSize]uint8]bool{}
	for client := range 3 {
		for number := range uint64(20) {
			var counts [KindStockLevel + 1]int
			var cards [deckSize]uint8
			for i := range uint64(deckSize) {
				cards[i] = in.Kind(client, number*deckSize+i)
				counts[cards[i]]++
			}
			if counts != [...]int{0, 45, 43, 4, 4, 4} {
				t.Fatalf("deck %d of client %d: %v", number, client, counts)
			}
			seen[cards] = true
		}
	}
	if len(seen) != 60 {
		t.Errorf("%d of 60 decks differ", len(seen))
	}
}

// TestNonUniform compares how often NURand(255, 0, 999) gives each number with its
// exact distribution, by the chi-squared statistic.
func TestNonUniform(t *testing.T) {
	const a, c, n, draws = 255, 123, 1000, 1_000_000
	var exact, drawn [n]float64
	for x := range a + 1 {
		for y := range n {
			exact[((x|y)+c)%n] += 1.0 / ((a + 1) * n)
		}
	}
	r := random{workload.NewRandom(1, 1)}
	for range draws {
		drawn[r.nonUniform(a, c, 0, n-1)]++
	}
	squares := 0.0
	for i := range exact {
		squares += (drawn[i] - draws*exact[i]) * (drawn[i] - draws*exact[i]) / (draws * exact[i])
	}
	// 999 degrees of freedom: the statistic is normal with a deviation of sqrt(2*999).
	if limit := 999 + 5*math.Sqrt(2*999); squares > limit {
		t.Errorf("chi-squared %.0f, want below %.0f", squares, limit)
	}
}

// TestNewOrders holds the shares of clause 2.4.1 over many orders.
func TestNewOrders(t *testing.T) {
	c := Config{Warehouses: 4, Items: 1000, Customers: 100, Loaders: 1}
	in := testInputs(c)
	const orders = 100_000
	lines, remote, rolledBack := 0, 0, 0
	for id := int64(1); id <= orders; id++ {
		n := in.NewOrder(id)
		if len(n.Lines) < minLines || len(n.Lines) > MaxLines || n.District < 1 || n.District > Districts || n.Customer < 1 || n.Customer > c.Customers {
			t.Fatalf("%+v", n)
		}
		local := int64(1)
		for i, l := range n.Lines {
			lines++
			if l.Supply != n.Warehouse {
				remote++
				local = 0
			}
			unused := l.Item == in.UnusedItem()
			if unused && i < len(n.Lines)-1 || !unused && (l.Item < 1 || l.Item > c.Items) || l.Quantity < 1 || l.Quantity > 10 || l.Supply < 1 || l.Supply > c.Warehouses {
				t.Fatalf("%+v", n)
			}
		}
		if n.AllLocal() != local {
			t.Fatalf("%+v", n)
		}
		if in.RolledBack(&n) {
			rolledBack++
		}
	}
	near(t, "lines", float64(lines)/orders, 10, 0.05)
	near(t, "remote lines", 100*float64(remote)/float64(lines), 1, 0.05)
	near(t, "rolled back", 100*float64(rolledBack)/orders, 1, 0.2)
}

// TestPayments holds the shares of clause 2.5.1.
func TestPayments(t *testing.T) {
	in := testInputs(Config{Warehouses: 4, Items: 1000, Customers: 100, Loaders: 1})
	const payments = 100_000
	remote, named := 0, 0
	for id := int64(1); id <= payments; id++ {
		p := in.Payment(id)
		if p.Customer.Warehouse != p.Warehouse {
			remote++
		} else if p.Customer.District != p.District {
			t.Fatalf("%+v", p)
		}
		if p.Customer.ID == 0 {
			named++
		}
		if customer := in.Resolve(&p.Customer); customer < 1 || customer > 100 || p.Amount < 1_00 || p.Amount > 5000_00 {
			t.Fatalf("%+v is of customer %d", p, customer)
		}
	}
	near(t, "remote", 100*float64(remote)/payments, 15, 0.7)
	near(t, "by name", 100*float64(named)/payments, 60, 0.9)
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.Abs(got-want) > within {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// TestOpeningOrders: each district's first orders are a permutation of its customers.
func TestOpeningOrders(t *testing.T) {
	p := NewPopulation(Defaults(), 5)
	var first []int64
	for _, district := range []int64{1, 2} {
		var all []int64
		for id := int64(1); id <= specCustomers; id++ {
			all = append(all, p.orderedBy(1, district, id))
		}
		if district == 1 {
			first = slices.Clone(all)
		} else if slices.Equal(first, all) {
			t.Error("two districts have the same permutation")
		}
		slices.Sort(all)
		for i, customer := range all {
			if customer != int64(i)+1 {
				t.Fatalf("district %d: customer %d at place %d", district, customer, i)
			}
		}
	}
}

// TestNamed: a name stands for the customer in the middle, by first name.
func TestNamed(t *testing.T) {
	p := NewPopulation(Defaults(), 5)
	const name = 77
	var of []*Customer
	for id := int64(1); id <= specCustomers; id++ {
		if c := p.customer(1, 4, id); c.Last == LastName(name) {
			of = append(of, c)
		}
	}
	slices.SortFunc(of, func(a, b *Customer) int { return strings.Compare(a.First, b.First) })
	if want := of[(len(of)+1)/2-1].ID; p.Named(1, 4, name) != want {
		t.Errorf("of %d customers it is %d, want %d", len(of), p.Named(1, 4, name), want)
	}
}

// TestThinkTimes: clients wait, on average as the specification says, and only if they
// are asked to.
func TestThinkTimes(t *testing.T) {
	c := Defaults()
	c.ThinkTimes = true
	in := testInputs(c)
	client := thinking{&client{inputs: in, number: 0}}
	var sum time.Duration
	const operations = 20_000
	for seq := range uint64(operations) {
		sum += client.Think(seq)
	}
	// By the mix: keying 0.45*18 + 0.43*3 + 0.12*2, thinking 0.88*12 + 0.04*(10+5+5).
	near(t, "pause", sum.Seconds()/operations, 9.63+11.36, 0.4)
	for n := range 25 {
		order, level := in.NewOrder(OperationID(n, 3)), in.StockLevel(OperationID(n, 3))
		if order.Warehouse != 1 || level.District != int64(n%Districts)+1 {
			t.Errorf("client %d: %+v, %+v", n, order, level)
		}
	}
	plan := load.Defaults()
	plan.Rate, plan.Arrivals = 5, load.Poisson
	var refused *load.PlanError
	if _, err := c.Plan(plan); !errors.As(err, &refused) || refused.Option != "--rate" {
		t.Errorf("think times with a rate: %v", err)
	}
	c.ThinkTimes = false
	if _, err := c.Plan(plan); err != nil {
		t.Errorf("a rate alone: %v", err)
	}
}

// TestQuantities: what is left of a stock follows from what was taken in all.
func TestQuantities(t *testing.T) {
	r := random{workload.NewRandom(2, 2)}
	for range 1000 {
		opening := r.between(10, 100)
		quantity, taken := opening, int64(0)
		for range 200 {
			n := r.between(1, 10)
			quantity, taken = Remaining(quantity, n), taken+n
			if want := quantityAfter(opening, taken); quantity != want {
				t.Fatalf("%d after %d were taken of %d, want %d", quantity, taken, opening, want)
			}
		}
	}
}

func TestTotal(t *testing.T) {
	// 100.00 less 25 %, with taxes of 10 % and 5 %: 86.25.
	if got := Total(100_00, 2500, 1000, 500); got != 86_25 {
		t.Errorf("%d", got)
	}
	if got := Total(1, 5000, 0, 0); got != 1 { // half a cent is rounded up
		t.Errorf("%d", got)
	}
}
