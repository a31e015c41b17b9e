package mysql

import (
	"net"
	"slices"
	"strings"

	"assay/driver/uri"
)

// local reports whether all hosts are this machine.
func local(hosts []string) bool {
	return !slices.ContainsFunc(hosts, func(host string) bool {
		name, _, err := net.SplitHostPort(host)
		ip := net.ParseIP(name)
		return err == nil && name != localhost && (ip == nil || !ip.IsLoopback())
	})
}

// fillEncryption completes the address's options from the user's file. The address's word goes
// first: a mode or a CA in it leaves the file's mode out, and no encryption its files.
func fillEncryption(options uri.Options, of map[string]string) {
	const mode, older, ca, cert, key = "ssl-mode", "tls", "ssl-ca", "ssl-cert", "ssl-key"
	if options[mode] == "" && options[older] == "" && options[ca] == "" {
		if filed := modeOf(of); filed != "" {
			options[mode] = filed
		}
	}
	if options[mode] == sslDisabled || options[older] == "false" {
		return
	}
	verifies := options[mode] == sslVerifyCA || options[mode] == sslVerifyIdentity || options[older] == "true"
	if of[ca] != "" && options[ca] == "" && verifies {
		options[ca] = of[ca]
	}
	encrypted := options[mode] != "" || options[older] != "" || options[ca] != ""
	if of[cert] != "" && of[key] != "" && options[cert] == "" && options[key] == "" && encrypted {
		options[cert], options[key] = of[cert], of[key]
	}
}

// modeOf is the mode that a file of options asks for; empty for none. A CA alone means VERIFY_CA in
// MySQL's clients (MySQL manual, "Command Options for Encrypted Connections") and a check of the
// chain in MariaDB's, which have ssl and ssl-verify-server-cert in place of modes (MariaDB Knowledge
// Base, "Data-in-Transit Encryption").
func modeOf(of map[string]string) string {
	on := func(name string) bool {
		value, given := of[name]
		return given && !slices.Contains([]string{"0", "off", "false"}, strings.ToLower(value))
	}
	_, ssl := of["ssl"]
	switch {
	case of["ssl-mode"] != "":
		return strings.ToUpper(of["ssl-mode"])
	case on("skip-ssl"), on("disable-ssl"), ssl && !on("ssl"):
		return sslDisabled
	case on("ssl-verify-server-cert"):
		return sslVerifyIdentity
	case of["ssl-ca"] != "":
		return sslVerifyCA
	case on("ssl"):
		return sslRequired
	case of["ssl-cert"] != "":
		return sslPreferred
	}
	return ""
}
