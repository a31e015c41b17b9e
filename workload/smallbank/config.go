package smallbank

import (
	"assay/check/cycle"
	"assay/workload"
	"assay/workload/definition"
)

// Config is what a user can set of the workload. It is a definition.Config.
type Config struct {
	// Customers is how many there are, ids 1 to Customers.
	Customers int64 `yaml:"customers" json:"customers"`
	// Hotspot is how many of them most operations deal with, and HotspotShare the share
	// of these operations, 0 to 1.
	Hotspot      int64   `yaml:"hotspot" json:"hotspot"`
	HotspotShare float64 `yaml:"hotspot_share" json:"hotspot_share"`
	// BalanceShare is the share of Balance, 0 to 1. The other four are equally frequent.
	BalanceShare float64 `yaml:"balance_share" json:"balance_share"`
	// Loaders is how many batches are loaded at the same time.
	Loaders int `yaml:"loaders" json:"loaders"`
	// Model is the consistency model that is judged; empty means what the database's
	// isolation level promises.
	Model string `yaml:"model,omitempty" json:"model,omitempty"`
}

// Defaults returns the configuration of a run without flags: the paper's customers,
// hotspot and uniform mix.
func Defaults() Config {
	return Config{Customers: 18_000, Hotspot: 1000, HotspotShare: 0.9, BalanceShare: 0.2, Loaders: 4}
}

// Validate returns a *workload.OptionError for the first value that cannot be used.
func (c Config) Validate() error {
	if err := definition.CheckRanges(c.Flags()); err != nil {
		return err
	}
	if _, err := cycle.ParseModel(c.Model); c.Model != "" && err != nil {
		return &workload.OptionError{Option: "--model", Value: c.Model, Want: cycle.ModelNames()}
	}
	return nil
}

// Operations is the pure function from an id to its operation, and knows the opening
// balances. It is safe for concurrent use.
type Operations struct {
	config Config
	seed   uint64
}

// NewOperations returns the operations of a run with this configuration and seed. It
// returns Config.Validate's error.
func NewOperations(c Config, seed uint64) (*Operations, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Operations{c, seed}, nil
}

// The amounts, in minor units: 0.01 to 100.00, and opening balances of 0 to 100.00, so
// that penalties and rejections are frequent.
const (
	maxAmount  = 100_00
	maxOpening = 100_00
)

// At returns the operation of this id.
func (s *Operations) At(id int64) Operation {
	r := workload.NewRandom(s.seed, uint64(id))
	o := Operation{ID: id, Kind: KindBalance}
	if r.Float() >= s.config.BalanceShare {
		o.Kind = []uint8{KindDepositChecking, KindTransactSaving, KindAmalgamate, KindWriteCheck}[r.Below(4)]
	}
	o.Customer = s.customer(&r)
	amount := 1 + int64(r.Below(maxAmount))
	switch o.Kind {
	case KindAmalgamate:
		if o.Other = s.customer(&r); o.Other == o.Customer {
			o.Other = o.Customer%s.config.Customers + 1
		}
	case KindTransactSaving:
		if o.Amount = amount; r.Coin() {
			o.Amount = -amount
		}
	case KindDepositChecking, KindWriteCheck:
		o.Amount = amount
	}
	return o
}

// customer draws one, in the hotspot or elsewhere.
func (s *Operations) customer(r *workload.Random) int64 {
	hot := s.config.Hotspot
	if r.Float() < s.config.HotspotShare || hot == s.config.Customers {
		return 1 + int64(r.Below(uint64(hot)))
	}
	return 1 + hot + int64(r.Below(uint64(s.config.Customers-hot)))
}

// Opening is what a customer's savings or checking account (Saving, Checking) was loaded
// with.
func (s *Operations) Opening(table int, customer int64) int64 {
	return int64(workload.Mix(workload.Mix(s.seed+uint64(table))^uint64(customer)) % (maxOpening + 1))
}
