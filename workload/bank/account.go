package bank

import "assay/workload"

// Account is an account as loaded or as read back. Amounts are integers in minor units.
type Account struct {
	ID      int64
	Balance int64
	Version int64
}

const (
	// PersonalOpening is a personal account's opening balance, 1,000.00.
	PersonalOpening = 1_000_00
	// CorporateOpening is large enough that payroll runs dry in no feasible run.
	CorporateOpening = 10_000_000_000_00
)

// Accounts knows the accounts and their opening balances. It is immutable.
type Accounts struct {
	n         int64
	corporate int64
}

// NewAccounts returns n accounts. Ids 1 to Corporate() are corporate: one in a thousand, at
// least one and at most a hundred, but none of fewer than three accounts.
func NewAccounts(n int64) Accounts {
	a := Accounts{n: n}
	if n >= 3 {
		a.corporate = min(max(n/1000, 1), 100)
	}
	return a
}

// Len is the number of accounts; their ids are 1 to Len.
func (a Accounts) Len() int64 { return a.n }

// Corporate is the number of corporate accounts.
func (a Accounts) Corporate() int64 { return a.corporate }

// Opening is the opening balance of account id, 0 if there is no such account.
func (a Accounts) Opening(id int64) int64 {
	switch {
	case id < 1 || id > a.n:
		return 0
	case id <= a.corporate:
		return CorporateOpening
	default:
		return PersonalOpening
	}
}

// Total is the sum of all opening balances.
func (a Accounts) Total() int64 {
	return a.corporate*CorporateOpening + (a.n-a.corporate)*PersonalOpening
}

// Transfer is a transfer as asked for.
type Transfer struct {
	ID          int64
	Source      int64
	Destination int64
	Amount      int64
}

// In minor units.
const (
	maxPersonalAmount = 100_00
	minPayrollAmount  = 10_00
	maxPayrollAmount  = 50_00
)

// Transfers computes the transfer of an id. It is safe for concurrent use.
type Transfers struct {
	seed     uint64
	accounts Accounts
	payroll  uint64 // chance of payroll, in 1/2^64
	personal chooser
}

// NewTransfers returns the transfers of a valid configuration and seed.
func NewTransfers(c Config, seed uint64) *Transfers {
	theta, _ := c.theta() // Validate says what is wrong
	t := &Transfers{seed: seed, accounts: NewAccounts(c.Accounts)}
	t.personal = newChooser(c.Accounts-t.accounts.Corporate(), theta)
	if t.accounts.Corporate() > 0 {
		t.payroll = share(c.Payroll)
	}
	return t
}

// Accounts returns the accounts that the transfers move money between.
func (t *Transfers) Accounts() Accounts { return t.accounts }

// At returns the transfer of an id: out of a corporate account with the chance of
// Config.Payroll, else between two personal accounts. Source and destination differ.
func (t *Transfers) At(id int64) Transfer {
	r := workload.NewRandom(t.seed, uint64(id))
	first := t.accounts.Corporate() + 1
	out := Transfer{ID: id, Destination: first + t.personal.choose(&r)}
	if t.payroll > 0 && (t.payroll == ^uint64(0) || r.Next() < t.payroll) {
		out.Source = 1 + int64(r.Below(uint64(t.accounts.Corporate())))
		out.Amount = minPayrollAmount + int64(r.Below(maxPayrollAmount-minPayrollAmount+1))
		return out
	}
	out.Source = first + t.personal.choose(&r)
	if out.Source == out.Destination {
		out.Source = first + (out.Source-first+1)%t.personal.n
	}
	out.Amount = 1 + int64(r.Below(maxPersonalAmount))
	return out
}

// share maps a share from 0 to 1 to a threshold for a random uint64.
func share(p float64) uint64 {
	if p >= 1 {
		return ^uint64(0)
	}
	return uint64(p * (1 << 63) * 2)
}

// chooser draws from 0 to n-1, uniformly or by a Zipf law with scattered favourites.
type chooser struct {
	n     int64
	theta float64
	law   workload.Zipf
	// stride is coprime to n, so that r*stride mod n maps ranks to keys one to one.
	stride int64
}

func newChooser(n int64, theta float64) chooser {
	c := chooser{n: n, theta: theta}
	if theta != 0 {
		c.law, c.stride = workload.NewZipf(n, theta), coprime(n)
	}
	return c
}

func (c *chooser) choose(r *workload.Random) int64 {
	if c.theta == 0 {
		return int64(r.Below(uint64(c.n)))
	}
	return (c.law.Rank(r) - 1) % c.n * c.stride % c.n
}

// coprime returns a number near n/golden ratio, which sets neighbouring ranks far apart.
func coprime(n int64) int64 {
	for s := max(int64(float64(n)*0.6180339887498949), 1); ; s++ {
		if gcd(s, n) == 1 {
			return s
		}
	}
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
