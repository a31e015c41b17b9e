// Package bank is the workload of money transfers: accounts with opening
// balances, transfers between them, and a ledger that is its own proof. It
// declares what a database must offer (Store), decides which operations are
// done, and hands what was read back to the checks.
//
// Everything an operation does is a pure function of the seed and the
// operation's id, so that a row of the journal can be judged bit by bit
// without storing what was sent.
//
// It must not know any driver.
package bank

import (
	"strconv"
	"strings"

	"assay/workload"
	"assay/workload/definition"
)

// Config is what a user can set of the workload. It is a definition.Config.
type Config struct {
	// Accounts is how many there are, ids 1 to Accounts.
	Accounts int64 `yaml:"accounts" json:"accounts"`
	// Keys is how accounts are chosen: "uniform" or "zipf:THETA" with
	// 0 < THETA < 5 and THETA != 1, after YCSB ("zipf:0.99").
	Keys string `yaml:"keys" json:"keys"`
	// Payroll is the share of transfers, 0 to 1, that go out of the few
	// corporate accounts, so that sources collide.
	Payroll float64 `yaml:"payroll" json:"payroll"`
	// Loaders is how many batches are loaded at the same time.
	Loaders int `yaml:"loaders" json:"loaders"`
	// Audits is how many times a second accounts are read in one transaction
	// while transfers go on; 0 means not at all.
	Audits float64 `yaml:"audits" json:"audits"`
}

// MaxAccounts is the largest Config.Accounts.
const MaxAccounts = 1_000_000_000

// Defaults returns the configuration of a run without flags.
func Defaults() Config {
	return Config{Accounts: 10_000, Keys: "uniform", Payroll: 0.2, Loaders: 4, Audits: 10}
}

// Validate returns a *workload.OptionError for the first value that cannot be
// used.
func (c Config) Validate() error {
	if err := definition.CheckRanges(c.Flags()); err != nil {
		return err
	}
	_, err := c.theta()
	return err
}

// theta returns the exponent of the Zipf distribution, 0 for uniform.
func (c Config) theta() (float64, error) {
	if c.Keys == "uniform" {
		return 0, nil
	}
	refuse := &workload.OptionError{Option: "--keys", Value: c.Keys,
		Want: "uniform, or zipf:THETA with THETA above 0, below 5 and not 1, such as zipf:0.99"}
	text, found := strings.CutPrefix(c.Keys, "zipf:")
	if !found {
		return 0, refuse
	}
	theta, err := strconv.ParseFloat(text, 64)
	if err != nil || !(theta > 0 && theta < 5) || theta == 1 {
		return 0, refuse
	}
	return theta, nil
}
