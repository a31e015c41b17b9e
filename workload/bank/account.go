package bank

// Account is one account as loaded or as read back. Amounts are integers in
// minor units.
type Account struct {
	ID      int64
	Balance int64
	Version int64
}

// The opening balances, in minor units.
const (
	// PersonalOpening is 1,000.00.
	PersonalOpening = 1_000_00
	// CorporateOpening is 10,000,000,000.00, so that payroll does not run dry
	// in any run that a database can do.
	CorporateOpening = 10_000_000_000_00
)

// Accounts knows the opening state: which accounts exist, which of them are
// corporate, and what each opened with. It is a value; all methods are pure.
type Accounts struct {
	n         int64
	corporate int64
}

// NewAccounts returns the opening state for n accounts. Ids 1 to Corporate()
// are corporate, one in a thousand, at least one and at most a hundred; with
// fewer than three accounts all are personal.
func NewAccounts(n int64) Accounts {
	a := Accounts{n: n}
	if n >= 3 {
		a.corporate = min(max(n/1000, 1), 100)
	}
	return a
}

// Len is how many accounts there are; their ids are 1 to Len.
func (a Accounts) Len() int64 { return a.n }

// Corporate is how many of them are corporate.
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

// Batch fills dst with the accounts from id first on and returns it, shorter
// where the accounts end.
func (a Accounts) Batch(first int64, dst []Account) []Account {
	count := min(int64(cap(dst)), a.n-first+1)
	dst = dst[:0]
	for id := first; id < first+count; id++ {
		dst = append(dst, Account{ID: id, Balance: a.Opening(id)})
	}
	return dst
}
