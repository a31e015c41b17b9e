// Package etcd is etcd, through the generated stubs of its API over gRPC.
//
// Each workload has one prefix of keys, ("assay", WORKLOAD, "mark") and its tables beside the mark,
// in package ordered's encoding. A transaction reads one revision. One request commits it, and is
// refused unless all reads still hold.
//
// It must not know the load engine, the checks or any other driver.
package etcd

import (
	"crypto/tls"
	"time"

	"assay/driver/encryption"
	"assay/driver/ordered"
	"assay/driver/uri"
	"assay/store"
)

const (
	scheme      = "etcd"
	defaultPort = "2379"
	defaultRoot = "assay"
)

const addressForm = "etcd://[USER:PASSWORD@]HOST[:PORT][,HOST...]/[PREFIX][?reads=serializable], special characters percent-encoded"

// Isolation levels. etcd's reads are linearizable or, if asked, serializable and perhaps stale
// (manual 3.4, "etcd API", "Range"; "etcd API guarantees"). Jepsen found transactions strict
// serializable ("Jepsen: etcd 3.4.3").
const (
	strict       = "strict-serializable"
	serializable = "serializable"
	// settingReads is the address's option and Describe's setting.
	settingReads = "reads"
	linearizable = "linearizable"
)

type options struct {
	printable      string
	hosts          []string // host:port
	user, password string
	// root is the first element of all keys.
	root string
	// stale: sessions' reads are serializable.
	stale          bool
	encryption     *tls.Config // nil without TLS
	connectTimeout time.Duration
}

// parse reads the target. Its error is a *store.OptionError without a password.
func parse(target store.Target) (*options, error) {
	o := &options{printable: store.Redact(target.Address), root: defaultRoot, connectTimeout: target.FirstContact()}
	a, err := uri.Parse(target.Address, addressForm, defaultPort, scheme)
	if err != nil {
		return nil, err
	}
	o.hosts, o.user, o.password = a.Hosts, a.User, a.Password
	if a.Path != "" {
		o.root = a.Path
	}
	if !ordered.ValidRoot(o.root) {
		return nil, &store.OptionError{Option: "prefix", Value: o.root, Want: "1 to 64 letters, digits, hyphens and underscores after the slash"}
	}
	if err := o.setOptions(a.Options, target.Isolation); err != nil {
		return nil, err
	}
	if target.Read != "" && target.Read != store.ReadPrimary {
		return nil, &store.OptionError{Option: "--read", Value: target.Read,
			Want: store.ReadPrimary + "; with ?" + settingReads + "=" + serializable + " in the address any member answers by itself"}
	}
	return o, nil
}

func (o *options) setOptions(given uri.Options, isolation string) error {
	reads, err := given.Choose(settingReads, linearizable, serializable)
	if err != nil {
		return err
	}
	switch isolation {
	case "":
	case strict, serializable:
		if reads != "" && (reads == serializable) != (isolation == serializable) {
			return &store.OptionError{Option: "isolation", Value: isolation, Want: "what " + settingReads + "=" + reads + " of the address gives"}
		}
		if isolation == serializable {
			reads = serializable
		}
	default:
		return &store.OptionError{Option: "isolation", Value: isolation, Want: strict + ", " + serializable}
	}
	o.stale = reads == serializable
	if o.encryption, err = encrypted(given); err != nil {
		return err
	}
	return given.None(settingReads + ", tls, " + encryption.ParameterNames)
}

// encrypted reads tls and its parameters. Each of these asks for encryption.
func encrypted(given uri.Options) (*tls.Config, error) {
	asked, err := given.Choose("tls", "true", "false")
	if err != nil {
		return nil, err
	}
	files, named, err := encryption.Take(given)
	switch {
	case err != nil:
		return nil, err
	case asked == "false" && named != "":
		return nil, &store.OptionError{Option: "tls", Value: asked, Want: "true, since there is " + named}
	case asked != "true" && named == "":
		return nil, nil
	}
	return files.Config()
}

func (o *options) level() string {
	if o.stale {
		return serializable
	}
	return strict
}

// Lacks returns etcd's missing capabilities.
func Lacks() store.Lacks {
	return store.Lacks{
		store.Sets:            "a transaction of etcd compares and changes at most 128 keys (--max-txn-ops)",
		store.Indexes:         "etcd finds keys by their order alone",
		store.SecondaryUnique: "etcd finds keys by their order alone",
		store.Compactions:     "etcd compacts and defragments a whole cluster, the keys of others too",
		store.UpdateInPlace:   "etcd has no operation that appends to a value",
		store.Language:        "a script's statements are SQL, or commands on documents",
		store.SQL:             "etcd has no SQL",
		store.Documents:       "etcd has keys and values, and no rows within others",
	}
}
