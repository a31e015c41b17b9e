package bank

import "assay/workload"

// Transfer is one transfer of money, as asked for.
type Transfer struct {
	ID          int64
	Source      int64
	Destination int64
	Amount      int64
}

// A transfer's id carries who made it: the client in the upper bits, the
// client's operation number in the lower.
const (
	seqBits = 40
	// MaxSeq is the highest operation number of a client.
	MaxSeq = 1<<seqBits - 1
	// maxClient keeps ids positive.
	maxClient = 1<<(63-seqBits) - 1
)

// TransferID returns the id of operation seq of a client.
func TransferID(client int, seq uint64) int64 {
	return int64(client)<<seqBits | int64(seq&MaxSeq)
}

// SplitID is the inverse of TransferID. ok is false if no client can have made
// the id.
func SplitID(id int64) (client int, seq uint64, ok bool) {
	if id < 0 {
		return 0, 0, false
	}
	return int(id >> seqBits), uint64(id) & MaxSeq, true
}

// The amounts, in minor units.
const (
	maxPersonalAmount = 100_00
	minPayrollAmount  = 10_00
	maxPayrollAmount  = 50_00
)

// Transfers is the pure function from an id to its transfer. It is safe for
// concurrent use.
type Transfers struct {
	seed     uint64
	accounts Accounts
	payroll  uint64 // chance of payroll, in 1/2^64
	personal chooser
}

// NewTransfers returns the transfers of a run with this configuration and
// seed. It returns Config.Validate's error.
func NewTransfers(c Config, seed uint64) (*Transfers, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	theta, err := c.theta()
	if err != nil {
		return nil, err
	}
	t := &Transfers{seed: seed, accounts: NewAccounts(c.Accounts)}
	t.personal = newChooser(c.Accounts-t.accounts.Corporate(), theta)
	if t.accounts.Corporate() > 0 {
		t.payroll = share(c.Payroll)
	}
	return t, nil
}

// Accounts returns the accounts that the transfers move money between.
func (t *Transfers) Accounts() Accounts { return t.accounts }

// At returns the transfer of this id: out of a corporate account to a personal
// one with the chance of Config.Payroll, else between two personal accounts.
// Source and destination always differ.
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
		// The next personal account, around the end.
		out.Source = first + (out.Source-first+1)%t.personal.n
	}
	out.Amount = 1 + int64(r.Below(maxPersonalAmount))
	return out
}

// share turns a share from 0 to 1 into a threshold for a random uint64.
func share(p float64) uint64 {
	if p >= 1 {
		return ^uint64(0)
	}
	return uint64(p * (1 << 63) * 2)
}
