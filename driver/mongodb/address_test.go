package mongodb

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"assay/internal/expect"
	"assay/store"
	"assay/workload/availability"
	"assay/workload/bank"
)

func TestParse(t *testing.T) {
	s, err := parse(store.Target{Address: "mongodb://u:p@h/other?retryWrites=true&retryReads=true&appName=mine&connectTimeoutMS=77"}, "bank", true)
	expect.NoError(t, err)
	o := s.options
	if *o.RetryWrites || *o.RetryReads || *o.MaxAdaptiveRetries != 0 || !s.askedForRetries {
		t.Errorf("retries are on: %v %v %v", *o.RetryWrites, *o.RetryReads, *o.MaxAdaptiveRetries)
	}
	if !strings.HasPrefix(*o.AppName, "assay bank ") || *o.MaxPoolSize != maxPoolSize || *o.ConnectTimeout != 77*time.Millisecond {
		t.Errorf("app name %q, pool %d, connect timeout %v", *o.AppName, *o.MaxPoolSize, *o.ConnectTimeout)
	}
	if s.readConcern.Level != "majority" || !s.majority() || s.user != "u" || s.connectTimeout != store.DefaultConnectTimeout {
		t.Errorf("%+v", s)
	}
	again, err := parse(store.Target{Address: "mongodb://h", ConnectTimeout: time.Second}, "bank", true)
	if err != nil || *again.options.AppName == *o.AppName || again.askedForRetries || *again.options.ConnectTimeout != time.Second {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestParseConcerns(t *testing.T) {
	for _, c := range []struct {
		query, isolation string
		read             string
		write            any
	}{
		{"", "", "majority", "majority"},
		{"", "snapshot", "snapshot", "majority"},
		{"readConcernLevel=snapshot", "snapshot", "snapshot", "majority"},
		{"readConcernLevel=local&w=1", "", "local", 1},
		{"w=majority", "", "majority", "majority"},
		{"journal=true", "", "majority", "majority"},
		{"w=twoCentres", "", "majority", "twoCentres"},
	} {
		s, err := parse(store.Target{Address: "mongodb://h/?" + c.query, Isolation: c.isolation}, "bank", true)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if s.readConcern.Level != c.read || s.writeConcern.W != c.write || s.majority() != (c.write == writeconcern.WCMajority) {
			t.Errorf("%+v: read %v, write %v", c, s.readConcern.Level, s.writeConcern.W)
		}
	}
}

// TestWaitForTheMajority: wtimeoutMS goes into each commit, and is refused where the
// library sends what is written.
func TestWaitForTheMajority(t *testing.T) {
	for query, want := range map[string]any{"wtimeoutMS=250": int64(250), "w=majority&wtimeoutMS=0": nil, "": nil} {
		s, err := parse(store.Target{Address: "mongodb://h/?" + query}, "bank", true)
		if err != nil {
			t.Errorf("%q: %v", query, err)
			continue
		}
		var sent any
		for _, e := range concern(s.writeConcern, s.majorityWait) {
			if e.Key == "wtimeout" {
				sent = e.Value
			}
		}
		if sent != want || s.writeConcern.W != "majority" {
			t.Errorf("%q: %v of %v", query, sent, s.writeConcern)
		}
	}
	var refused *store.OptionError
	if _, err := parse(store.Target{Address: "mongodb://h/?wtimeoutMS=250"}, "entity", false); !errors.As(err, &refused) || refused.Value != "wtimeoutms" {
		t.Errorf("entities: %v", err)
	}
}

func TestOpenRefusesOptions(t *testing.T) {
	together, alone := bank.Schema(), availability.Schema()
	for _, c := range []struct {
		schema                  store.Schema
		query, isolation, reads string
		option, value           string
	}{
		{together, "", "serializable", "", "isolation level", "serializable"},
		{together, "", "majority", "", "isolation level", "majority"},
		{together, "readConcernLevel=local", "snapshot", "", "isolation level", "snapshot"},
		{together, "readConcernLevel=linearizable", "", "", "readConcernLevel", "linearizable"},
		{together, "readConcernLevel=available", "", "", "readConcernLevel", "available"},
		{together, "w=0", "", "", "w", "0"},
		{together, "readPreference=secondary", "", "", "readPreference", "secondary"},
		{together, "wtimeoutMS=-5", "", "", "wtimeoutMS", "-5"},
		{together, "nonsense=1", "", "", "the address's option", "nonsense"},
		{together, "timeoutMS=5", "", "", "the address's option", "timeoutMS"},
		{together, "causalConsistency=true", "", "", "causalConsistency", "true"},
		{alone, "", "snapshot", "", "isolation level", "snapshot"},
		{alone, "", "", "anywhere", "--read", "anywhere"},
		{alone, "w=0", "", "", "w", "0"},
		{alone, "timeoutMS=5", "", "", "the address's option", "timeoutMS"},
		{alone, "readConcernLevel=wrong", "", "", "readConcernLevel", "wrong"},
		{alone, "causalConsistency=perhaps", "", "", "causalConsistency", "perhaps"},
		{alone, "causalConsistency=true&readConcernLevel=available", "", "", "readConcernLevel", "available"},
		{alone, "causalConsistency=true&readConcernLevel=linearizable", "", "", "readConcernLevel", "linearizable"},
		{alone, "causalConsistency=true&readConcernLevel=snapshot", "", "", "readConcernLevel", "snapshot"},
	} {
		_, err := Open(t.Context(), store.Target{Address: "mongodb://127.0.0.1:1/?" + c.query, Isolation: c.isolation, Read: c.reads, ConnectTimeout: time.Second}, c.schema)
		var refused *store.OptionError
		if !errors.As(err, &refused) || refused.Option != c.option || refused.Value != c.value || refused.Want == "" {
			t.Errorf("%s %q, isolation %q, reads %q: %v", c.schema.Workload, c.query, c.isolation, c.reads, err)
		}
	}
}

func TestMalformedAddressesSayWhy(t *testing.T) {
	for address, want := range map[string]string{
		"mongodb://u:a/b@h/":                "unescaped slash in password",
		"mongodb://h/?w=-1":                 "invalid value for w)",
		"mongodb://h1,h2/?connect=direct":   "multiple hosts",
		"mongodb://assay.invalid:1234567/x": "invalid host",
	} {
		_, err := Open(t.Context(), store.Target{Address: address}, bank.Schema())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want it to say %q", address, err, want)
		}
	}
}

// Passwords with the characters that people forget to encode end up in places
// where no password is looked for.
func TestMalformedAddressesTellNoPassword(t *testing.T) {
	for _, address := range []string{
		"mongodb://", "mongodb:h", "mysql://u:Sesame99@h/", "mongodb://u:Ses/ame99@h/db", "mongodb://u:Ses@ame99@h/db",
		"mongodb://u:Ses:ame99@h/", "mongodb://u:Ses%ame99@h/", "mongodb://u:Sesame99@h:port/", "mongodb://u:Sesame99@h:123456/",
		"mongodb://u:Sesame99@/", "mongodb://u:Sesame99@h/?w", "mongodb://u:Sesame99@h?w=1", "mongodb://u:Sesame99@h/?maxPoolSize=many",
		"mongodb://u:Ses?ame99@127.0.0.1:1/", "mongodb://u:Ses#ame99@127.0.0.1:1/", "mongodb://u:Sesame99@h1,h2/?directConnection=true",
		"mongodb://u:Sesame99@h/?authMechanism=PLAIN&authSource=", "mongodb://u:@Sesame99@h", "mongodb://u:Ses ame99@[::1/",
		"mongodb://u:Sesame99@h/?tlsCertificateKeyFilePassword=Sesame99&tlsCertificateKeyFile=/nowhere",
		"mongodb://u:Sesame99@127.0.0.1:1/a.b/c", "mongodb://u:Sesame99@h/?readConcernLevel=x&w=-1",
	} {
		_, err := Open(t.Context(), store.Target{Address: address, ConnectTimeout: 100 * time.Millisecond}, bank.Schema())
		if err == nil {
			t.Errorf("%s was accepted", address)
			continue
		}
		for _, piece := range []string{"ame99", "Ses"} {
			if strings.Contains(err.Error(), piece) {
				t.Errorf("the error on %s tells: %v", address, err)
			}
		}
	}
}
