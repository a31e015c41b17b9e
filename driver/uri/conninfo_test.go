package uri

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"assay/store"
)

// TestKeywordForm: libpq's other form means the same as a URL.
func TestKeywordForm(t *testing.T) {
	for text, want := range map[string]string{
		"host=127.0.0.1 port=5432 dbname=db user=me":                     "postgres://me@127.0.0.1:5432/db",
		"host = a,b port=1,2 user='me too' password='p \\'@/:' dbname=d": "postgres://me%20too:p%20%27%40%2F%3A@a:1,b:2/d",
		"host=a,b port=7 sslmode=require":                                "postgres://a:7,b:7/?sslmode=require",
		"host=/run/postgresql user=u":                                    "postgres://u@/?host=%2Frun%2Fpostgresql",
		"service=mine":                                                   "postgres:///?service=mine",
		"host=::1 options='-c geqo=off'":                                 "postgres://[::1]/?options=-c%20geqo%3Doff",
		"dbname=a host=h dbname=b":                                       "postgres://h/b",
		"user=u password=hunter2":                                        "postgres://u:hunter2@/",
		"password=hunter2 host=h":                                        "postgres://h/?password=hunter2",
		"hostaddr=10.0.0.1 host=h":                                       "postgres://h/?hostaddr=10.0.0.1",
		"postgres://u@h/d?a=b":                                           "postgres://u@h/d?a=b",
		"sqlite:a=b.db":                                                  "sqlite:a=b.db",
		"localhost":                                                      "localhost",
		"":                                                               "",
		"application_name=''":                                            "postgres:///?application_name=",
	} {
		got, err := FromKeywords(text)
		if err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"host='hunter2", "host=a hunter2", "=hunter2", "host=a b'c=hunter2", "host=h 'hunter2'=x"} {
		got, err := FromKeywords(text)
		var refused *store.OptionError
		if keyword().MatchString(text) && (!errors.As(err, &refused) || strings.Contains(fmt.Sprintf("%v %#v", err, err), "hunter2")) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// TestPortsOfHosts: as many as hosts, or one.
func TestPortsOfHosts(t *testing.T) {
	for text, want := range map[string]string{
		"host=a,b,c port=1,2": "", "host=a port=1,2": "", "host=a,b port=1,2,3": "", "host=/run/a,/run/b,/run/c port=1,2": "",
		"host=a,b,c port=1": "postgres://a:1,b:1,c:1/", "host=a,b,c port=1,,3": "postgres://a:1,b,c:3/",
		"hostaddr=10.0.0.1,10.0.0.2 port=1,2": "postgres:///?hostaddr=10.0.0.1%2C10.0.0.2&port=1%2C2",
	} {
		got, err := FromKeywords(text)
		var refused *store.OptionError
		if want == "" && (!errors.As(err, &refused) || refused.Option != "port") || want != "" && (err != nil || got != want) {
			t.Errorf("%s: %q, %v; want %q", text, got, err, want)
		}
	}
}

// FuzzKeywordForm: an accepted text becomes a URL that redacts its password, and no error shows it.
func FuzzKeywordForm(f *testing.F) {
	for _, text := range []string{"host=a password='x y'", "user=u password=a@b/c?d#e host=h", "host=/run/x password=\\'", "host=a,b port=1,2,3 password=p", "dbname='a/b' password=p user=''"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := FromKeywords(text)
		if err != nil {
			if strings.Contains(err.Error(), text) && len(text) > 20 {
				t.Errorf("%v tells the address", err)
			}
			return
		}
		if !keyword().MatchString(text) {
			if got != text {
				t.Errorf("%q became %q", text, got)
			}
			return
		}
		values, _ := readKeywords(text)
		password := values["password"]
		if len(password) < 8 || strings.Contains(strings.Replace(text, password, "", 1), password) {
			return
		}
		printed := store.Redact(got)
		if strings.Contains(printed, password) || strings.Contains(printed, url.QueryEscape(password)) || strings.Contains(printed, url.PathEscape(password)) {
			t.Errorf("%q is printed as %q", got, printed)
		}
	})
}
