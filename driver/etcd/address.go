// Package etcd lets the workloads use etcd, through the generated stubs of etcd's own API
// module over gRPC.
//
// All that it makes lies under one prefix of keys for each workload: ("assay", WORKLOAD,
// "mark"), and the tables of the workload beside it, in the encoding of package ordered.
// A transaction reads one revision and is committed by one request, which is refused unless
// everything that was read is as it was.
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

// addressForm is told to who gives an address that cannot be used.
const addressForm = "etcd://[USER:PASSWORD@]HOST[:PORT][,HOST...]/[PREFIX][?reads=serializable], special characters percent-encoded"

// The isolation levels. etcd's reads are linearizable unless they ask to be serializable, and
// then "may return stale data" and "do not need consensus" (manual 3.4, "etcd API", "Range";
// "etcd API guarantees"). Jepsen found transactions strict serializable ("Jepsen: etcd 3.4.3").
const (
	strict       = "strict-serializable"
	serializable = "serializable"
	// settingReads is the option of the address, and the setting that Describe tells.
	settingReads = "reads"
	linearizable = "linearizable"
)

// options is what an address and a target ask for.
type options struct {
	printable      string
	hosts          []string // host:port
	user, password string
	// root is the first element of all keys.
	root string
	// stale is true if reads of sessions are serializable.
	stale          bool
	encryption     *tls.Config // nil without TLS
	connectTimeout time.Duration
}

// parse reads the target. What cannot be used gives a *store.OptionError that holds no
// password.
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

// encrypted reads tls and what goes with it. A parameter that says how to encrypt asks for it.
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

// level is the isolation level in force.
func (o *options) level() string {
	if o.stale {
		return serializable
	}
	return strict
}

// Lacks are the capabilities that etcd does not have.
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
