package store

import (
	"errors"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	tests := map[string]string{
		"sqlite:some/file.db":                               "sqlite:some/file.db",
		"postgres://host/db":                                "postgres://host/db",
		"postgres://u@host/db":                              "postgres://u@host/db",
		"postgres://u:hidden@host:5432/db?sslmode=disable":  "postgres://u:xxxxx@host:5432/db?sslmode=disable",
		"postgres://u:hid:d@en@host/db":                     "postgres://u:xxxxx@host/db",
		"postgres://host/db?user=u&password=hidden":         "postgres://host/db?user=u&password=xxxxx",
		"postgres://host/db?PassWord=hidden&x=1":            "postgres://host/db?PassWord=xxxxx&x=1",
		"mysql://host/?ssl-passphrase=hidden":               "mysql://host/?ssl-passphrase=xxxxx",
		"redis://h/?tlsKeyFilePassword=hidden&tlsKeyFile=k": "redis://h/?tlsKeyFilePassword=xxxxx&tlsKeyFile=k",
		"postgres://host/db?sslpassword=hidden":             "postgres://host/db?sslpassword=xxxxx",
		"postgres://host/db?p%61ssword=hidden":              "postgres://host/db?p%61ssword=xxxxx",
		"mongodb://u:hidden@a:1,b:2/?replicaSet=rs0":        "mongodb://u:xxxxx@a:1,b:2/?replicaSet=rs0",
		"mongodb://u:hid/den@a:1/":                          "mongodb://(unreadable)",
		"mongodb://a/?authMechanismProperties=TOKEN:hidden": "mongodb://a/?authMechanismProperties=xxxxx",
		"hidden":                            "(no scheme)",
		"host=::1 user=u password=hidden":   "(unreadable)",
		"password=hid:den host=h":           "(unreadable)",
		"user = u password = hid://den h=1": "(unreadable)",
		// The file of a key is no secret, and the address can be used again.
		"mysql://h/?ssl-key=/k.pem&ssl-ca=ca.pem":                                   "mysql://h/?ssl-key=/k.pem&ssl-ca=ca.pem",
		"postgres://h/d?sslcert=c.pem&sslkey=k.pem":                                 "postgres://h/d?sslcert=c.pem&sslkey=k.pem",
		"mongodb://h/?tlsCertificateKeyFile=b.pem":                                  "mongodb://h/?tlsCertificateKeyFile=b.pem",
		"mongodb://h/?tlsCertificateKeyFile=b&tlsCertificateKeyFilePassword=hidden": "mongodb://h/?tlsCertificateKeyFile=b&tlsCertificateKeyFilePassword=xxxxx",
		"cassandra://h/?tls=true&tlsKeyFile=k.pem":                                  "cassandra://h/?tls=true&tlsKeyFile=k.pem",
		"cassandra://h/?tlsKey=hidden":                                              "cassandra://h/?tlsKey=xxxxx",
	}
	for address, want := range tests {
		got := Redact(address)
		if got != want {
			t.Errorf("Redact(%q) = %q, want %q", address, got, want)
		}
		if strings.Contains(got, "hidden") {
			t.Errorf("Redact(%q) shows the secret: %q", address, got)
		}
		if hidden := strings.Contains(address, "hid"); hidden && got != "(no scheme)" && !Redacted(got) {
			t.Errorf("Redacted(%q) does not see that something was taken out", got)
		}
		if !strings.Contains(address, "hid") && Redacted(got) {
			t.Errorf("Redacted(%q) sees what is not there", got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("u", "hunter2", "host/db?x=1")
	f.Fuzz(func(t *testing.T, user, password, rest string) {
		if password == "" || strings.ContainsAny(user, ":@/?#") {
			return
		}
		// What is shown must be the same whatever the password is.
		got, want := Redact("postgres://"+user+":"+password+"@"+rest), Redact("postgres://"+user+":other@"+rest)
		if got != want && got != "postgres://(unreadable)" {
			t.Errorf("the password %q shows in %q", password, got)
		}
	})
}

func TestSaid(t *testing.T) {
	for text, want := range map[string]string{
		"ERROR: a\n  b (SQLSTATE 42P01)":          "ERROR: a b (SQLSTATE 42P01)",
		`near "IDENTIFIED BY 'hidden'" at line 1`: `near "IDENTIFIED BY xxxxx at line 1`,
		"no password 'hidden' for it":             "no password xxxxx for it",
		"dial postgres://u:hidden@h/d now":        "dial postgres://u:xxxxx@h/d now",
		"near 'END' at line 1":                    "near 'END' at line 1",
		strings.Repeat("x", 500):                  strings.Repeat("x", 400) + "...",
	} {
		if got := Said(errors.New(text)).Error(); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
	if Said(nil) != nil {
		t.Error("no error is one")
	}
}

// TestRedactText: an address is found wherever a text has it, whatever stands around it.
func TestRedactText(t *testing.T) {
	for text, want := range map[string]string{
		`unknown command "postgres://u:hidden@h/d" for "assay run bank"`:         `unknown command "postgres://u:xxxxx@h/d" for "assay run bank"`,
		`unknown command "postgres://u:hid den@h/d" for it`:                      `unknown command "postgres://u:xxxxx@h/d" for it`,
		`unknown command "postgres://u:hid\"d en@h/d" for it`:                    `unknown command "postgres://u:xxxxx@h/d" for it`,
		`no -dpostgres://u:hid'den@h/d here`:                                     `no -dpostgres://u:xxxxx@h/d here`,
		`MySQL://u:hidden@h:x/d`:                                                 `MySQL://(unreadable)`,
		`mysql://h/?ssl-passphrase=hidden; and then`:                             `mysql://h/?ssl-passphrase=xxxxx; and then`,
		"db: [\"mem://\", mem://u:hidden@h:5]\n- 'mem://v:hidden@h'":             "db: [\"mem://\", mem://u:xxxxx@h:5]\n- 'mem://v:xxxxx@h'",
		`["mem://u:hidden@h","mem://v:hidden@h"]`:                                `["mem://u:xxxxx@h","mem://v:xxxxx@h"]`,
		`db=mem:// against db=mem://u:hidden@h in tps`:                           `db=mem:// against db=mem://u:xxxxx@h in tps`,
		`unknown command "host=h user=u password=hidden" for it`:                 `unknown command "host=h user=u password=xxxxx" for it`,
		`host = h password = 'hid den\'s' sslpassword=hidden`:                    `host = h password = xxxxx sslpassword=xxxxx`,
		`host=h user=u password=hid,den`:                                         `host=h user=u password=xxxxx`,
		`host=h password=&hidden dbname=d`:                                       `host=h password=xxxxx dbname=d`,
		`host=h password=hid\ den dbname=d`:                                      `host=h password=xxxxx dbname=d`,
		`no "host=h password=hid\\ d\"en" here`:                                  `no "host=h password=xxxxx" here`,
		`host=h password=hid'den`:                                                `host=h password=xxxxx`,
		`host=h password=,;`:                                                     `host=h password=xxxxx`,
		`[host=h password=hidden, mem://] ('host=h password=hidden').`:           `[host=h password=xxxxx, mem://] ('host=h password=xxxxx').`,
		`db: 'host=h password=''hid den'''`:                                      `db: 'host=h password=xxxxx'`,
		`the key is locked; give it by sslpassword=PASSPHRASE`:                   `the key is locked; give it by sslpassword=PASSPHRASE`,
		`see https://example.org/a?b=c#d (or postgres://u@h/d), twice: x.`:       `see https://example.org/a?b=c#d (or postgres://u@h/d), twice: x.`,
		`wait for host=h, whose file has "postgres://u@h/d?sslpassword=hidden".`: `wait for host=h, whose file has "postgres://u@h/d?sslpassword=xxxxx".`,
	} {
		got := RedactText(text)
		if got != want || strings.Contains(got, "hid") {
			t.Errorf("%s\nis shown as %s", text, got)
		}
		if again := RedactText(got); again != got {
			t.Errorf("%s\nis shown as %s the second time", got, again)
		}
	}
}
