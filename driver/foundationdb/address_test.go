package foundationdb

import (
	"errors"
	"strings"
	"testing"

	"assay/workload"
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
		"fdb:///etc/foundationdb/../fdb.cluster?":      {clusterFile: "/etc/foundationdb/../fdb.cluster", root: "assay"},
		"fdb:///etc/foundationdb/fdb.cluster?prefix=a": {clusterFile: "/etc/foundationdb/fdb.cluster", root: "a"},
	} {
		got, err := parse(workload.Target{Address: address})
		want.printable = address
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", address, got, err, want)
		}
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for address, option := range map[string]string{
		"":                            "address",
		"fdb":                         "address",
		"fdb:":                        "address",
		"fdb:fdb.cluster":             "address",
		"fdb:/etc/fdb.cluster":        "address",
		"fdb://host:4500/fdb.cluster": "address",
		"fdb://user:hunter2@host/x":   "address",
		"FDB:///x":                    "address",
		"fdbx:///x":                   "address",
		"fdb:///directory/":           "address",
		"fdb:///a%00b":                "address",
		"fdb:///a#b":                  "address",
		"fdb:///a%zz":                 "address",
		"fdb:///a?prefix=":            "prefix",
		"fdb:///a?prefix=a/b":         "prefix",
		"fdb:///a?prefix=%00":         "prefix",
		"fdb:///a?prefix=%FF":         "prefix",
		"fdb:///a?prefix=é":           "prefix",
		"fdb:///a?prefix=a&prefix=b":  "parameter",
		"fdb:///a?tenant=b":           "parameter",
		"fdb:///a?prefix=%zz":         "parameters",
		"fdb:///?prefix=" + strings.Repeat("x", 65): "prefix",
	} {
		_, err := parse(workload.Target{Address: address})
		var refused *workload.OptionError
		if !errors.As(err, &refused) || refused.Option != option || refused.Want == "" {
			t.Errorf("%s: %v; want a *workload.OptionError for %s", address, err, option)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error tells the password", address)
		}
	}
}

func TestIsolationLevelsAndMembers(t *testing.T) {
	for isolation, fine := range map[string]bool{
		"": true, "strict-serializable": true, "serializable": false, "snapshot": false, "read-committed": false,
	} {
		_, err := parse(workload.Target{Address: "fdb://", Isolation: isolation})
		var refused *workload.OptionError
		if fine != (err == nil) || !fine && (!errors.As(err, &refused) || refused.Option != "isolation") {
			t.Errorf("isolation %q: %v", isolation, err)
		}
	}
	for read, fine := range map[string]bool{"": true, workload.ReadPrimary: true, workload.ReadNearest: false, workload.ReadSecondaryPreferred: false} {
		err := primaryOnly(workload.Target{Read: read})
		var refused *workload.OptionError
		if fine != (err == nil) || !fine && !errors.As(err, &refused) {
			t.Errorf("read %q: %v", read, err)
		}
	}
}

func FuzzAddress(f *testing.F) {
	for _, seed := range []string{"fdb://", "fdb:///a/b?prefix=c", "fdb://u:p@h/x", "fdb:///%", "fdb:///a?prefix=%00", "", "fdb:", "sqlite:x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		o, err := parse(workload.Target{Address: address})
		if err != nil {
			var refused *workload.OptionError
			if !errors.As(err, &refused) || o != (options{}) {
				t.Errorf("%q: %+v, %v", address, o, err)
			}
			return
		}
		if !strings.HasPrefix(address, "fdb://") || !plain(o.root) || o.printable != workload.Redact(address) {
			t.Errorf("%q was taken as %+v", address, o)
		}
		if o.clusterFile != "" && (o.clusterFile[0] != '/' || strings.ContainsRune(o.clusterFile, 0)) {
			t.Errorf("%q: cluster file %q", address, o.clusterFile)
		}
	})
}
