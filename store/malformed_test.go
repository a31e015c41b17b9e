package store

import (
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"testing"
)

// TestReasonsHoldNoPassword: what a library says of an address is told unless a
// part of the password may be in it.
func TestReasonsHoldNoPassword(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "/ca.pem", Err: fs.ErrNotExist}
	quoting := errors.New("what is hun/ter2?")
	for _, test := range []struct {
		address string
		err     error
		says    string
	}{
		{"postgres://u:hunter2@h/d", missing, "/ca.pem"},
		{"postgres://h/d", missing, "/ca.pem"},
		{"postgres://u:hun%2Fter2@h/d", quoting, ""},
		{"postgres://h/d?password=hun%2Fter2", quoting, ""},
		{"postgres://u:hun/ter2@h/d", quoting, "%2F"},
		{"postgres://u:hunter2@h/d", &url.Error{Op: "parse", URL: "postgres://u:hunter2@h/d", Err: errors.New("no")}, ""},
		{"postgres://u:hunter2@h/d", nil, ""},
	} {
		got := MalformedReason(test.address, test.err)
		if !strings.Contains(got, test.says) || test.says == "" && got != "" || strings.Contains(got, "hun") {
			t.Errorf("%s, %v: %q", test.address, test.err, got)
		}
	}
}

func TestHoldsPassword(t *testing.T) {
	for address, want := range map[string]bool{
		"postgres://u:p@h/d": true, "postgres://u:p/w@h/d": true, "mongodb://h/?x=u:p@h": true, "postgres://h/d?password=p": true,
		"mysql://h/?token=t": true, "postgres://u@h:5432/d": false, "postgres://u:@h/d": false, "sqlite:a:b@c": false, "": false,
		"mongodb://h1:1,h2:2/?tlsCertificateKeyFile=k.pem": false, "postgres://h/d?sslkey=k.pem&password=": false,
	} {
		if got := HoldsPassword(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}
