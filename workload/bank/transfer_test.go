package bank

import (
	"errors"
	"math"
	"testing"

	"assay/store"
	"assay/workload"
)

func TestTransfersAreAPureFunctionOfSeedAndID(t *testing.T) {
	for _, keys := range []string{"uniform", "zipf:0.99", "zipf:1.5"} {
		c := Defaults()
		c.Keys = keys
		a, b, other := NewTransfers(c, 7), NewTransfers(c, 7), NewTransfers(c, 8)
		same := 0
		for client := range 3 {
			for seq := range uint64(1000) {
				id := workload.OperationID(client, seq)
				if a.At(id) != b.At(id) {
					t.Fatalf("%s: transfer %d differs between two generators of one seed", keys, id)
				}
				if a.At(id) == other.At(id) {
					same++
				}
			}
		}
		if same > 3 {
			t.Errorf("%s: %d of 3000 transfers are the same under another seed", keys, same)
		}
	}
}

func TestTransfersStayWithinTheAccounts(t *testing.T) {
	for _, n := range []int64{2, 3, 4, 10, 999, 1000, 5000, 200_000, MaxAccounts} {
		for _, keys := range []string{"uniform", "zipf:0.99", "zipf:0.1", "zipf:4.9"} {
			for _, payroll := range []float64{0, 0.2, 1} {
				c := Config{Accounts: n, Keys: keys, Payroll: payroll, Loaders: 1}
				tr := NewTransfers(c, 42)
				for seq := range uint64(500) {
					x := tr.At(workload.OperationID(1, seq))
					if x.Source == x.Destination || x.Amount < 1 || x.Source < 1 || x.Source > n ||
						x.Destination < 1 || x.Destination > n {
						t.Fatalf("accounts %d, keys %s: impossible transfer %+v", n, keys, x)
					}
					corporate := x.Source <= tr.Accounts().Corporate()
					if payroll == 0 && corporate || payroll == 1 && n >= 3 && !corporate {
						t.Fatalf("accounts %d, payroll %v: source %d", n, payroll, x.Source)
					}
				}
			}
		}
	}
}

func TestZipfFollowsItsLaw(t *testing.T) {
	const n, draws = 100, 400_000
	for _, theta := range []float64{0.5, 0.99, 1.2} {
		c := newChooser(n, theta)
		counts := make([]int, n)
		r := workload.NewRandom(1, 1)
		for range draws {
			counts[c.choose(&r)]++
		}
		var norm float64
		for k := 1; k <= n; k++ {
			norm += math.Pow(float64(k), -theta)
		}
		for k := int64(1); k <= n; k++ {
			want := draws * math.Pow(float64(k), -theta) / norm
			got := float64(counts[(k-1)*c.stride%n])
			if math.Abs(got-want) > 6*math.Sqrt(want) {
				t.Errorf("theta %v: rank %d drawn %.0f times, want %.0f", theta, k, got, want)
			}
		}
	}
}

func TestPayrollShare(t *testing.T) {
	c := Defaults()
	tr := NewTransfers(c, 3)
	corporate := 0
	for seq := range uint64(100_000) {
		if tr.At(workload.OperationID(0, seq)).Source <= tr.Accounts().Corporate() {
			corporate++
		}
	}
	if corporate < 19_000 || corporate > 21_000 {
		t.Errorf("payroll 0.2 gave %d of 100000", corporate)
	}
}

func TestAccountsAddUp(t *testing.T) {
	for _, n := range []int64{2, 3, 100, 1000, 12_345} {
		var sum int64
		for _, account := range opening(n) {
			sum += account.Balance
		}
		if a := NewAccounts(n); sum != a.Total() || a.Opening(0) != 0 || a.Opening(n+1) != 0 {
			t.Errorf("%d accounts have a sum of %d, want %d", n, sum, a.Total())
		}
	}
}

func TestUnknownKeys(t *testing.T) {
	for _, keys := range []string{"", "zipf", "zipf:", "zipf:x", "zipf:-1", "zipf:0", "zipf:1", "zipf:NaN", "zipf:9", "latest"} {
		c := Defaults()
		c.Keys = keys
		var refused *store.OptionError
		if err := c.Validate(); !errors.As(err, &refused) || refused.Option != "--keys" {
			t.Errorf("keys %q: %v", keys, err)
		}
	}
}
