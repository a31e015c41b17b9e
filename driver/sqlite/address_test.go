package sqlite

import (
	"errors"
	"testing"

	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
)

func TestAddress(t *testing.T) {
	for address, option := range map[string]string{
		"sqlite:":                                "address",
		"sqlite::memory:":                        "address",
		"sqlite://host/x.db":                     "address",
		"sqlite://x.db":                          "address",
		"sqlite:x.db?journal=memory":             "journal",
		"sqlite:x.db?synchronous=":               "synchronous",
		"sqlite:x.db?cache=shared":               "the address's option",
		"sqlite:x.db?journal=%zz":                "the address's options",
		"sqlite:x.db?journal=wal&journal=delete": "the address's option",
		"sqlite:///var/x.db":                     "",
		"sqlite:x.db?journal=wal":                "",
	} {
		_, err := Open(t.Context(), store.Target{Address: address}, bank.Schema())
		var refused *store.OptionError
		if got := errors.As(err, &refused); got != (option != "") || got && refused.Option != option {
			t.Errorf("%s: %v, want a refusal of %q", address, err, option)
		}
	}
	for _, level := range []string{"", "serializable"} {
		if _, err := Open(t.Context(), store.Target{Address: "sqlite:x", Isolation: level}, bank.Schema()); err != nil {
			t.Errorf("isolation %q: %v", level, err)
		}
	}
	for name, target := range map[string]store.Target{
		"read committed": {Address: "sqlite:x", Isolation: "read committed"},
		"another reader": {Address: "sqlite:x", Read: store.ReadSecondaryPreferred}, "the nearest": {Address: "sqlite:x", Read: store.ReadNearest},
	} {
		var refused *store.OptionError
		if _, err := Open(t.Context(), target, availability.Schema()); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
