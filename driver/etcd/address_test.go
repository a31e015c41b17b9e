package etcd

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
		"etcd://a":            {hosts: []string{"a:2379"}, root: "assay"},
		"etcd://a:1,b,c:3/":   {hosts: []string{"a:1", "b:2379", "c:3"}, root: "assay"},
		"etcd://a/my-Tests_2": {hosts: []string{"a:2379"}, root: "my-Tests_2"},
		"etcd://me:x%2Fy@[::1]/r?reads=serializable":       {hosts: []string{"[::1]:2379"}, user: "me", password: "x/y", root: "r", stale: true},
		"etcd://a?reads=linearizable":                      {hosts: []string{"a:2379"}, root: "assay"},
		"etcd://a/" + strings.Repeat("x", ordered.MaxRoot): {hosts: []string{"a:2379"}, root: strings.Repeat("x", ordered.MaxRoot)},
	} {
		got, err := parse(store.Target{Address: address})
		if err != nil || !slices.Equal(got.hosts, want.hosts) || got.root != want.root || got.user != want.user || got.password != want.password || got.stale != want.stale {
			t.Errorf("%s: %+v, %v; want %+v", address, got, err, want)
		}
		if err == nil && strings.Contains(got.printable, "x%2Fy") {
			t.Errorf("%s has the password", got.printable)
		}
	}
}

func TestAddressesThatAreRefused(t *testing.T) {
	for address, option := range map[string]string{
		"etcd:":                "address",
		"etcd://":              "address",
		"etcd://a/b/c":         "address",
		"etcd://me:hunter2/@a": "address",
		"etcd://a/é":           "prefix",
		"etcd://a/%00":         "prefix",
		"etcd://a/" + strings.Repeat("x", ordered.MaxRoot+1): "prefix",
		"etcd://a?reads=stale":                               "reads",
		"etcd://a?lease=1":                                   "the address's option",
		"etcd://a?tls=false&tlsInsecure=true":                "tls",
	} {
		var refused *store.OptionError
		if _, err := parse(store.Target{Address: address}); !errors.As(err, &refused) || refused.Option != option || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want option %q refused", address, err, option)
		}
	}
	for _, target := range []store.Target{
		{Address: "etcd://a", Isolation: "read-committed"}, {Address: "etcd://a?reads=serializable", Isolation: strict},
		{Address: "etcd://a?reads=linearizable", Isolation: serializable}, {Address: "etcd://a", Read: store.ReadNearest},
	} {
		if _, err := parse(target); !errors.As(err, new(*store.OptionError)) {
			t.Errorf("%+v: %v", target, err)
		}
	}
	for _, level := range []string{strict, serializable} {
		if o, err := parse(store.Target{Address: "etcd://a", Isolation: level}); err != nil || o.level() != level {
			t.Errorf("isolation %s: %+v, %v", level, o, err)
		}
	}
}
