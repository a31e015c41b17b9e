package cassandra

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"assay/internal/expect"
	"assay/store"
)

func TestAddresses(t *testing.T) {
	type want struct {
		hosts          []string
		user, password string
		keyspace       string
		level          gocql.Consistency
		replication    int
	}
	for address, w := range map[string]want{
		"cassandra://host":  {hosts: []string{"host:9042"}, keyspace: "assay", level: gocql.Quorum, replication: 3},
		"cassandra://host/": {hosts: []string{"host:9042"}, keyspace: "assay", level: gocql.Quorum, replication: 3},
		"cassandra://a:1,b,[::1],[fe80::2]:4/Mine?consistency=LOCAL_QUORUM&replication=5": {
			hosts:    []string{"a:1", "b:9042", "[::1]:9042", "[fe80::2]:4"},
			keyspace: "Mine", level: gocql.LocalQuorum, replication: 5},
		"cassandra://u:p%40s%2Fs:x@10.0.0.1:9042/k?consistency=one": {hosts: []string{"10.0.0.1:9042"}, user: "u", password: "p@s/s:x",
			keyspace: "k", level: gocql.One, replication: 3},
		"cassandra://u@h?consistency=all": {hosts: []string{"h:9042"}, user: "u", keyspace: "assay", level: gocql.All, replication: 3},
	} {
		s, err := parse(store.Target{Address: address})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		got := want{s.hosts, s.user, s.password, s.keyspace, s.consistency, s.replication}
		if !reflect.DeepEqual(got, w) {
			t.Errorf("%s: %+v, want %+v", address, got, w)
		}
	}
}

func TestAddressesThatCannotBeUsed(t *testing.T) {
	for address, word := range map[string]string{
		"cassandra:host": "cassandra://", "cassandra://": "cassandra://", "cassandra://a,,b": "cassandra://",
		"cassandra://host:0": "cassandra://", "cassandra://host:70000": "cassandra://", "cassandra://host:hidden": "cassandra://",
		"cassandra://u:hid/den@host": "cassandra://", "cassandra://u:hid?den@host": "cassandra://", "cassandra://u:%zz@host": "cassandra://",
		"cassandra://:hidden@host": "cassandra://", "cassandra://a:1:2": "cassandra://", "cassandra://[::1": "cassandra://",
		"cassandra://host/a-b": "keyspace", "cassandra://host/1": "keyspace", "cassandra://host/a/b": "cassandra://",
		`cassandra://host/a"b`: "keyspace", "cassandra://host/" + strings.Repeat("k", 49): "keyspace",
		"cassandra://host?consistency=any": "local_quorum", "cassandra://host?consistency=each_quorum": "local_quorum",
		"cassandra://host?replication=0": "copies", "cassandra://host?replication=many": "copies",
		"cassandra://host?retries=3": "consistency, replication", "cassandra://host?consistency=one&consistency=all": "once",
		"cassandra://host?tls=maybe": "true, false", "cassandra://host?tls=false&tlsInsecure=true": "tlsInsecure",
		"cassandra://host?tlsCAFile=none.pem": "no such file", "cassandra://host?tlsInsecure=1": "true, false",
		"cassandra://host?ssl-ca=x": "tlsCAFile, tlsCertFile, tlsKeyFile",
		"cassandra://host#x":        "cassandra://", "mongodb://host": "cassandra://",
	} {
		s, err := parse(store.Target{Address: address})
		var option *store.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %+v, %v; want it to speak of %q", address, s, err, word)
		}
		if err != nil && strings.Contains(err.Error(), "hid") {
			t.Errorf("%s: %v shows the password", address, err)
		}
	}
}

func TestReadsAndPromise(t *testing.T) {
	for _, c := range []struct {
		consistency, read string
		level             gocql.Consistency
		promises          bool
	}{
		{"quorum", "", gocql.Quorum, true}, {"quorum", store.ReadPrimary, gocql.Quorum, true}, {"all", "", gocql.All, true},
		{"quorum", store.ReadNearest, gocql.One, false}, {"all", store.ReadNearest, gocql.One, true},
		{"one", "", gocql.One, false}, {"two", "", gocql.Two, false}, {"local_quorum", "", gocql.LocalQuorum, false},
	} {
		s, err := parse(store.Target{Address: "cassandra://host?consistency=" + c.consistency, Read: c.read})
		if err != nil || s.reads != c.level || s.quorums() != c.promises {
			t.Errorf("%+v: reads %v, promises %v, %v", c, s.reads, s.quorums(), err)
		}
	}
	var option *store.OptionError
	for _, target := range []store.Target{
		{Address: "cassandra://host", Read: store.ReadSecondaryPreferred}, {Address: "cassandra://host", Isolation: "serializable"},
	} {
		if _, err := parse(target); !errors.As(err, &option) {
			t.Errorf("%+v: %v", target, err)
		}
	}
}

// TestTimestamps: the clock of a single client orders its writes; those of several, or beside the
// clock of a user's application, would not.
func TestTimestamps(t *testing.T) {
	for _, c := range []struct{ shared, existing, client bool }{{false, false, true}, {true, false, false}, {false, true, false}} {
		s, err := parse(store.Target{Address: "cassandra://a", Shared: c.shared, Existing: c.existing})
		expect.NoError(t, err)
		if got := s.cluster(&refusals{}).DefaultTimestamp; got != c.client {
			t.Errorf("%+v: timestamps of the client: %v", c, got)
		}
	}
}
