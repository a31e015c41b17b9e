package foundationdb

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"assay/driver/ordered"
	"assay/store"
)

func TestAddresses(t *testing.T) {
	for address, want := range map[string]options{
		"fdb://":                                       {root: "assay"},
		"fdb:///":                                      {root: "assay"},
		"fdb:///etc/foundationdb/fdb.cluster":          {clusterFile: "/etc/foundationdb/fdb.cluster", root: "assay"},
		"fdb:///a%20b/c%3Fd.cluster":                   {clusterFile: "/a b/c?d.cluster", root: "assay"},
		"fdb:///fdb.cluster?prefix=my-Tests_2":         {clusterFile: "/fdb.cluster", root: "my-Tests_2"},
		"fdb://?prefix=other":                          {root: "other"},
		"fdb:///?prefix=" + strings.Repeat("x", 64):    {root: strings.Repeat("x", 64)},
		"fdb:///a?causal_read_risky=true":              {clusterFile: "/a", root: "assay", riskyReads: true},
		"fdb:///a?prefix=b&causal_read_risky=false":    {clusterFile: "/a", root: "b"},
		"fdb:///etc/foundationdb/../fdb.cluster?":      {clusterFile: "/etc/foundationdb/../fdb.cluster", root: "assay"},
		"fdb:///etc/foundationdb/fdb.cluster?prefix=a": {clusterFile: "/etc/foundationdb/fdb.cluster", root: "a"},
	} {
		got, err := parse(store.Target{Address: address})
		want.printable = address
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", address, got, err, want)
		}
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for address, option := range map[string]string{
		"":                             "address",
		"fdb":                          "address",
		"fdb:":                         "address",
		"fdb:fdb.cluster":              "address",
		"fdb:/etc/fdb.cluster":         "address",
		"fdb://host:4500/fdb.cluster":  "address",
		"fdb://user:hunter2@host/x":    "address",
		"FDB:///x":                     "address",
		"fdbx:///x":                    "address",
		"fdb:///directory/":            "address",
		"fdb:///a%00b":                 "address",
		"fdb:///a#b":                   "address",
		"fdb:///a%zz":                  "address",
		"fdb:///a?prefix=":             "prefix",
		"fdb:///a?prefix=a/b":          "prefix",
		"fdb:///a?prefix=%00":          "prefix",
		"fdb:///a?prefix=%FF":          "prefix",
		"fdb:///a?prefix=é":            "prefix",
		"fdb:///a?prefix=a&prefix=b":   "the address's option",
		"fdb:///a?tenant=b":            "the address's option",
		"fdb:///a?causal_read_risky":   "causal_read_risky",
		"fdb:///a?causal_read_risky=1": "causal_read_risky",
		"fdb:///a?causal_read_risky=true&causal_read_risky=true": "the address's option",
		"fdb:///a?prefix=%zz":                       "the address's options",
		"fdb:///?prefix=" + strings.Repeat("x", 65): "prefix",
	} {
		_, err := parse(store.Target{Address: address})
		var refused *store.OptionError
		if !errors.As(err, &refused) || refused.Option != option || refused.Want == "" {
			t.Errorf("%s: %v; want a *store.OptionError for %s", address, err, option)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error tells the password", address)
		}
	}
}

func TestIsolationLevelsAndMembers(t *testing.T) {
	for isolation, fine := range map[string]bool{
		"": true, "strict-serializable": true, "serializable": false, "snapshot": false, "read-committed": false,
	} {
		_, err := parse(store.Target{Address: "fdb://", Isolation: isolation})
		var refused *store.OptionError
		if fine != (err == nil) || !fine && (!errors.As(err, &refused) || refused.Option != "isolation") {
			t.Errorf("isolation %q: %v", isolation, err)
		}
	}
	for read, fine := range map[string]bool{"": true, store.ReadPrimary: true, store.ReadNearest: false, store.ReadSecondaryPreferred: false} {
		_, err := parseSchema(store.Target{Address: "fdb://", Read: read}, new(store.Schema))
		var refused *store.OptionError
		if fine != (err == nil) || !fine && !errors.As(err, &refused) {
			t.Errorf("read %q: %v", read, err)
		}
	}
}

// TestRiskyReads: reads that may be stale are refused in transactions of several statements.
func TestRiskyReads(t *testing.T) {
	for _, fine := range []bool{true, false} {
		for address, asked := range map[string]bool{"fdb://?causal_read_risky=true": true, "fdb://?causal_read_risky=false": false, "fdb://": false} {
			o, err := parseSchema(store.Target{Address: address}, &store.Schema{Transactions: !fine})
			var refused *store.OptionError
			switch {
			case asked && !fine:
				if !errors.As(err, &refused) || refused.Option != causalReadRisky {
					t.Errorf("%s with transactions: %v; want *store.OptionError", address, err)
				}
			case err != nil || o.riskyReads != asked:
				t.Errorf("%s, where that is fine: %v: %+v, %v", address, fine, o, err)
			}
		}
	}
	before := store.Product{Settings: []store.Setting{{Name: "logs", Value: "3"}, {Name: settingIsolation, Value: level}}}
	after := withRiskyReads(before)
	want := []store.Setting{{Name: "logs", Value: "3"}, {Name: settingIsolation, Value: "serializable"}, {Name: causalReadRisky, Value: "on"}}
	if !slices.Equal(after.Settings, want) || before.Settings[1].Value != level {
		t.Errorf("%+v, of %+v; want %+v", after.Settings, before.Settings, want)
	}
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"fdb://", "fdb:///a/b?prefix=c", "fdb://u:p@h/x", "fdb:///%", "fdb:///a?prefix=%00", "", "fdb:", "sqlite:x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		o, err := parse(store.Target{Address: address})
		if err != nil {
			var refused *store.OptionError
			if !errors.As(err, &refused) || o != (options{}) {
				t.Errorf("%q: %+v, %v", address, o, err)
			}
			return
		}
		if !strings.HasPrefix(address, "fdb://") || !ordered.ValidRoot(o.root) || o.printable != store.Redact(address) {
			t.Errorf("%q was taken as %+v", address, o)
		}
		if o.clusterFile != "" && (o.clusterFile[0] != '/' || strings.ContainsRune(o.clusterFile, 0)) {
			t.Errorf("%q: cluster file %q", address, o.clusterFile)
		}
	})
}
