package encryption

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"assay/driver/drivertest"
	"assay/internal/expect"
	"assay/store"
)

func file(parameter, path string) File { return File{Parameter: parameter, Path: path} }

// TestFilesThatCannotBeUsed: the error names parameter, file and reason, but no content.
func TestFilesThatCannotBeUsed(t *testing.T) {
	ca := drivertest.NewAuthority(t, "ours")
	one, other := ca.Client("one"), drivertest.NewAuthority(t, "theirs").Client("other")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		expect.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	const content = "aHVudGVyMg=="
	odd := write("odd.pem", content)
	broken := write("broken.pem", "-----BEGIN PRIVATE KEY-----\n"+content+"\n-----END PRIVATE KEY-----\n")
	older := write("older.pem", "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,AA\n\n"+content+"\n-----END RSA PRIVATE KEY-----\n")
	ofOlderForm := Options{Certificate: file("cert", one.Certificate), Key: file("key", older), Passphrase: Passphrase{"phrase", "right"}}
	none := filepath.Join(dir, "none.pem")
	for name, c := range map[string]struct {
		options Options
		words   []string
	}{
		"no such CA":          {Options{CA: file("ca", none)}, []string{"ca ", none, "no such file"}},
		"CA is a folder":      {Options{CA: file("ca", dir)}, []string{dir, "no ordinary file"}},
		"CA is a device":      {Options{CA: file("ca", "/dev/zero")}, []string{"/dev/zero", "no ordinary file"}},
		"CA is a key":         {Options{CA: file("ca", one.Key)}, []string{one.Key, "certificate of an authority"}},
		"CA is nothing":       {Options{CA: file("ca", odd)}, []string{odd, "certificate of an authority"}},
		"CA of no use":        {Options{CA: file("ca", ca.File), Verify: Nothing}, []string{"not verified"}},
		"no key":              {Options{Certificate: file("cert", one.Certificate), Key: file("key", "")}, []string{one.Certificate, "key=FILE"}},
		"no certificate":      {Options{Certificate: file("cert", ""), Key: file("key", one.Key)}, []string{one.Key, "cert=FILE"}},
		"no such certificate": {Options{Certificate: file("cert", none), Key: file("key", one.Key)}, []string{"cert ", none, "no such file"}},
		"no such key":         {Options{Certificate: file("cert", one.Certificate), Key: file("key", none)}, []string{"key ", none, "no such file"}},
		"key is nothing":      {Options{Certificate: file("cert", one.Certificate), Key: file("key", odd)}, []string{odd, "private key"}},
		"passphrase alone":    {Options{CA: file("ca", ca.File), Key: file("key", ""), Passphrase: Passphrase{"phrase", content}}, []string{"phrase", "key=FILE"}},
		"no passphrase":       {Options{Certificate: file("cert", one.Certificate), Key: file("key", drivertest.Locked(t, one, "right").Key), Passphrase: Passphrase{"phrase", ""}}, []string{"phrase=PASSPHRASE"}},
		"another passphrase":  {Options{Certificate: file("cert", one.Certificate), Key: file("key", drivertest.Locked(t, one, "right").Key), Passphrase: Passphrase{"phrase", content}}, []string{"does not open"}},
		"key of older form":   {ofOlderForm, []string{older, "openssl pkcs8"}},
		"key is broken":       {Options{Certificate: file("cert", one.Certificate), Key: file("key", broken)}, []string{broken, one.Certificate}},
		"another's key":       {Options{Certificate: file("cert", one.Certificate), Key: file("key", other.Key)}, []string{other.Key, one.Certificate, "does not match"}},
	} {
		_, err := c.options.Config()
		var refused *store.OptionError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v; want *store.OptionError", name, err)
			continue
		}
		for _, word := range c.words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %v; want it to speak of %q", name, err, word)
			}
		}
		if strings.Contains(err.Error(), content) {
			t.Errorf("%s: %v shows what is in the file", name, err)
		}
	}
	if err := ofOlderForm.Check(); err != nil {
		t.Errorf("a key that the driver's library opens: %v", err)
	}
	ofOlderForm.CA = file("ca", none)
	if err := ofOlderForm.Check(); err == nil || !strings.Contains(err.Error(), none) {
		t.Errorf("a file that is not there, beside such a key: %v", err)
	}
	config, err := Options{CA: file("ca", ca.File), Certificate: file("cert", one.Both), Key: file("key", one.Both)}.Config()
	if err != nil || len(config.Certificates) != 1 || State(config) != verified {
		t.Errorf("%+v, %v", config, err)
	}
}

// server answers TLS handshakes with this certificate. With clients it demands a certificate of
// theirs.
func server(t *testing.T, shown drivertest.Pair, clients *drivertest.Authority) string {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(shown.Certificate, shown.Key)
	expect.NoError(t, err)
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if clients != nil {
		trusting, err := Options{CA: file("ca", clients.File)}.Config()
		expect.NoError(t, err)
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, trusting.RootCAs
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	expect.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.Write([]byte("x")) // makes the handshake
			}()
		}
	}()
	return listener.Addr().String()
}

// reach also reads, because only then a server of TLS 1.3 refuses a client's certificate.
func reach(t *testing.T, address, name string, options Options) error {
	t.Helper()
	config, err := options.Config()
	expect.NoError(t, err)
	raw, err := net.Dial("tcp", address)
	expect.NoError(t, err)
	defer raw.Close()
	config.ServerName = name
	conn := tls.Client(raw, config)
	_, err = conn.Read(make([]byte, 1))
	return err
}

func TestWhatIsVerified(t *testing.T) {
	ours, theirs := drivertest.NewAuthority(t, "ours"), drivertest.NewAuthority(t, "theirs")
	address := server(t, ours.Server("db.example", "127.0.0.1"), nil)
	guarded := server(t, ours.Server("127.0.0.1"), ours)
	ca, wrong, client, stranger := file("ca", ours.File), file("ca", theirs.File), ours.Client("me"), theirs.Client("me")
	shown := func(p drivertest.Pair) Options {
		return Options{CA: ca, Certificate: file("cert", p.Certificate), Key: file("key", p.Key)}
	}
	advice := Advice{CA: "ca", Certificate: "cert=FILE&key=FILE", AnyHost: "anyhost=true", Off: "tls=false"}
	for name, c := range map[string]struct {
		address, host string
		options       Options
		reason        string // what Reason speaks of; "" for a connection that comes about
	}{
		"name":                      {address, "db.example", Options{CA: ca}, ""},
		"address":                   {address, "127.0.0.1", Options{CA: ca}, ""},
		"another name":              {address, "else.example", Options{CA: ca}, "is for db.example, 127.0.0.1 and not for else.example"},
		"any name":                  {address, "else.example", Options{CA: ca, Verify: ChainOnly}, ""},
		"another CA":                {address, "db.example", Options{CA: wrong}, "ca=FILE"},
		"another CA, any name":      {address, "db.example", Options{CA: wrong, Verify: ChainOnly}, "ca=FILE"},
		"the system's CAs":          {address, "db.example", Options{}, "ca=FILE"},
		"nothing":                   {address, "else.example", Options{Verify: Nothing}, ""},
		"no client's certificate":   {guarded, "127.0.0.1", Options{CA: ca}, "cert=FILE&key=FILE"},
		"client's certificate":      {guarded, "127.0.0.1", shown(client), ""},
		"a stranger's certificate":  {guarded, "127.0.0.1", shown(stranger), "cert=FILE&key=FILE"},
		"a certificate nobody asks": {address, "127.0.0.1", shown(client), ""},
	} {
		err := reach(t, c.address, c.host, c.options)
		reason, ok := Reason(err, advice)
		if ok != (c.reason != "") || err != nil != ok || !strings.Contains(reason, c.reason) {
			t.Errorf("%s: %q, %v; want %q", name, reason, err, c.reason)
		}
	}
}

func TestServersWithoutTLS(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	expect.NoError(t, err)
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			conn.Write([]byte("220 speak\r\n"))
		}
	}()
	err = reach(t, listener.Addr().String(), "127.0.0.1", Options{})
	if reason, ok := Reason(err, Advice{Off: "tls=false"}); !ok || !strings.Contains(reason, "tls=false") {
		t.Errorf("%q, %v", reason, err)
	}
	if reason, ok := Reason(errors.New("no route to host"), Advice{}); ok {
		t.Errorf("not a failure of TLS: %q", reason)
	}
}

func TestState(t *testing.T) {
	for want, options := range map[string]Options{verified: {}, chainOnly: {Verify: ChainOnly}, notVerified: {Verify: Nothing}} {
		config, err := options.Config()
		if err != nil || State(config) != want {
			t.Errorf("%+v: %s, %v; want %s", options, State(config), err, want)
		}
	}
	if State(nil) != off {
		t.Errorf("without a configuration: %s", State(nil))
	}
}
