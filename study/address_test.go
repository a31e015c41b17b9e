package study

import "testing"

func TestOptionsGoIntoTheAddress(t *testing.T) {
	for address, want := range map[string]string{
		"mongodb://a:1,b:2":               "mongodb://a:1,b:2/?w=1&x=a+b",
		"mongodb://a:1/":                  "mongodb://a:1/?w=1&x=a+b",
		"mongodb://a/?replicaSet=rs0":     "mongodb://a/?replicaSet=rs0&w=1&x=a+b",
		"postgres://u:p@h/db?sslmode=off": "postgres://u:p@h/db?sslmode=off&w=1&x=a+b",
		"sqlite:some/file.db":             "sqlite:some/file.db?w=1&x=a+b",
		"mem://?bug=lost-ack:0.1":         "mem://?bug=lost-ack:0.1&w=1&x=a+b",
		"cassandra://a,b/keyspace":        "cassandra://a,b/keyspace?w=1&x=a+b",
	} {
		if got := withOptions(address, []string{"w=1", "x=a b"}); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
		if got := withOptions(address, nil); got != address {
			t.Errorf("%s became %s", address, got)
		}
	}
	for _, bad := range []string{"", "w", "=1", "w=", "a&b=1"} {
		s := Defaults()
		s.Options = []string{bad}
		if err := s.Validate(); err == nil {
			t.Errorf("option %q was taken", bad)
		}
	}
}
