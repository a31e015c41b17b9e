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
	"strconv"

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
	refuse := func(option string, value int, want string) error {
		return &store.OptionError{Option: option, Value: strconv.Itoa(value), Want: want}
	}
	if _, err := cycle.ParseModel(c.Model); c.Model != "" && err != nil {
		return &store.OptionError{Option: "--model", Value: c.Model, Want: cycle.ModelNames()}
	}
	if err := definition.CheckRead(c.Read); err != nil {
		return err
	}
	switch c.Test {
	case "append", "register", "predicate", "pairs", "all":
	default:
		return &store.OptionError{Option: "--test", Value: c.Test, Want: "append, register, predicate, pairs or all"}
	}
	switch {
	case c.Keys < 1 || c.Keys > 100_000:
		return refuse("--keys", c.Keys, "1 to 100000")
	case c.Length < 1 || c.Length > maxLength:
		return refuse("--length", c.Length, "1 to 8")
	case c.Length < 2 && (c.Test == "predicate" || c.Test == "all"):
		return refuse("--length", c.Length, "2 to 8, so that a transaction can count twice")
	case c.PerKey < 1 || c.PerKey > 10_000:
		return refuse("--per-key", c.PerKey, "1 to 10000")
	}
	return nil
}
