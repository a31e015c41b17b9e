// Package isolation is the workload of small transactions over shared lists, registers, groups
// and pairs. Every anomaly of isolation leaves a trace in what clients read, which check/cycle
// finds.
//
// Seed, client, operation number and window of keys decide what a transaction does. So a
// transaction without a record is known too, once something of it is read.
//
// It must not know any driver.
package isolation

import (
	"assay/check/cycle"
	"assay/store"
	"assay/workload/definition"
)

// Config is a definition.Config.
type Config struct {
	// Test is "append" (lists), "register" (read-write registers), "predicate" (counts of
	// groups, and inserts), "pairs" (a rule over two rows), or "all", on separate keys.
	Test   string `yaml:"test" json:"test"`
	Keys   int    `yaml:"keys" json:"keys"`
	Length int    `yaml:"length" json:"length"`
	// PerKey is how many transactions of the fastest client use a set of keys: lists stay short.
	PerKey  int    `yaml:"per_key" json:"per_key"`
	Rewrite bool   `yaml:"rewrite,omitempty" json:"rewrite,omitempty"`
	Model   string `yaml:"model,omitempty" json:"model,omitempty"`
	Read    string `yaml:"read,omitempty" json:"read,omitempty"`
}

// Defaults returns the default configuration.
func Defaults() Config {
	return Config{Test: "append", Keys: 8, Length: 4, PerKey: 16}
}

func (c *Config) Target(to *store.Target) { to.Read = c.Read }

func (c Config) Validate() error {
	if _, err := cycle.ParseModel(c.Model); c.Model != "" && err != nil {
		return &store.OptionError{Option: "--model", Value: c.Model, Want: cycle.ModelNames()}
	}
	if c.Length == 1 && c.does("predicate") {
		return &store.OptionError{Option: "--length", Value: "1", Want: "2 to 8, so that a transaction can count twice"}
	}
	return definition.CheckFlags(c.Flags())
}
