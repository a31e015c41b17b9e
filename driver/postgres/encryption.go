package postgres

import (
	"cmp"
	"crypto/tls"
	"net/url"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"assay/driver/encryption"
	"assay/driver/uri"
)

// advice names libpq's parameters (manual, "Parameter Key Words").
func advice() encryption.Advice {
	return encryption.Advice{CA: "sslrootcert", Certificate: "sslcert=FILE&sslkey=FILE", AnyHost: "sslmode=verify-ca", Off: "sslmode=disable"}
}

// checkFiles explains an unusable file of the address or the environment by *store.OptionError, nil
// if the files are usable. It is for an address that pgx has refused with an error that quotes it.
func checkFiles(address string) error {
	_, options := filesOf(address)
	return options.Check()
}

func filesOf(address string) (url.Values, encryption.Options) {
	var values url.Values
	if u, err := url.Parse(address); err == nil {
		values = u.Query()
	}
	file := func(parameter, variable string) encryption.File {
		return encryption.File{Parameter: parameter, Path: cmp.Or(values.Get(parameter), os.Getenv(variable))}
	}
	options := encryption.Options{CA: file("sslrootcert", "PGSSLROOTCERT"), Certificate: file("sslcert", "PGSSLCERT"), Key: file("sslkey", "PGSSLKEY"),
		Passphrase: encryption.Passphrase{Parameter: "sslpassword", Value: cmp.Or(values.Get("sslpassword"), os.Getenv("PGSSLPASSWORD"))}}
	if options.CA.Path == "system" {
		options.CA.Path = ""
	}
	return values, options
}

// parseConfig is pgx.ParseConfig, and also reads keys encrypted as PKCS#8, as libpq does.
func parseConfig(address string) (*pgx.ConnConfig, error) {
	values, options := filesOf(address)
	if values == nil || values.Get("sslcertmode") == "disable" || options.Key.Path == "" || !options.Key.Encrypted() {
		return pgx.ParseConfig(address)
	}
	shown, err := options.ClientCertificate()
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	for _, parameter := range []string{"sslcert", "sslkey", "sslpassword"} {
		values.Set(parameter, "") // also where the environment has one
	}
	u.RawQuery = uri.Query(values)
	config, err := pgx.ParseConfig(u.String())
	if err != nil {
		return nil, err
	}
	for _, way := range append([]*pgconn.FallbackConfig{{TLSConfig: config.TLSConfig}}, config.Fallbacks...) {
		if way.TLSConfig != nil {
			way.TLSConfig.Certificates = []tls.Certificate{shown}
		}
	}
	return config, nil
}

// protection says how a connection is protected. With sslmode=prefer and allow the server decides;
// all hosts of an address have one mode.
func protection(config *pgx.ConnConfig, c conn) string {
	if _, encrypted := c.Conn().(*tls.Conn); !encrypted {
		return encryption.State(nil)
	}
	for _, way := range append([]*pgconn.FallbackConfig{{TLSConfig: config.TLSConfig}}, config.Fallbacks...) {
		if way.TLSConfig != nil {
			return encryption.State(way.TLSConfig)
		}
	}
	return "encrypted" // by a configuration that is not known here
}

func refusedUser(reason string) string {
	switch {
	case strings.Contains(reason, "no encryption"): // "no pg_hba.conf entry for host ..., no encryption"
		return reason + "; sslmode=verify-full&sslrootcert=FILE asks for an encrypted connection"
	case strings.Contains(reason, "client certificate"):
		return reason + "; give it as " + advice().Certificate
	}
	return reason
}
