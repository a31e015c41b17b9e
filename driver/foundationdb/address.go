// Package foundationdb is FoundationDB, through the official Go binding and its C client library.
// Both are only in a build with the tag foundationdb. Other builds know addresses and say that they
// cannot open them.
//
// Each workload has one prefix of keys, ("assay", WORKLOAD, "mark") and its tables beside the mark,
// in the tuple layer's encoding.
//
// It must not know the load engine, the checks or any other driver.
package foundationdb

import (
	"net/url"
	"strings"

	"assay/driver/ordered"
	"assay/driver/uri"
	"assay/store"
)

// level is the only isolation level of transactions (manual, "Developer Guide", "Conflict ranges"),
// unless they ask for less. Ours only do under causalReadRisky.
const level = "strict-serializable"

type options struct {
	// clusterFile is a path; if it is empty, the client library chooses (manual, "Administration",
	// "Specifying the cluster file").
	clusterFile string
	// root is the first element of all keys.
	root string
	// riskyReads: sessions' transactions use causal_read_risky.
	riskyReads bool
	// printable is the address without secrets.
	printable string
}

const scheme = "fdb"

// parse reads fdb:///PATH?prefix=NAME&causal_read_risky=true. The path is percent-decoded; without
// it the library's default cluster file is meant. It returns *store.OptionError.
func parse(target store.Target) (options, error) {
	o := options{root: "assay", printable: store.Redact(target.Address)}
	u, err := url.Parse(target.Address)
	if err != nil || u.Scheme != scheme || u.Opaque != "" || u.Host != "" || u.User != nil || u.Fragment != "" ||
		!strings.HasPrefix(target.Address, scheme+"://") || strings.ContainsRune(u.Path, 0) || strings.HasSuffix(u.Path, "/") && u.Path != "/" {
		return options{}, &store.OptionError{Option: "address", Value: o.printable,
			Want: "fdb:///PATH with the path of a cluster file, such as fdb:///etc/foundationdb/fdb.cluster, or fdb:// for the default one"}
	}
	if u.Path != "/" {
		o.clusterFile = u.Path
	}
	if asked := target.Isolation; asked != "" && asked != level {
		return options{}, &store.OptionError{Option: "isolation", Value: asked, Want: level + ", which is all that FoundationDB has"}
	}
	if err := o.read(u.RawQuery); err != nil {
		return options{}, err
	}
	return o, nil
}

func (o *options) read(query string) error {
	given, err := uri.ReadOptions(query)
	if err != nil {
		return err
	}
	if prefix, is := given.Take("prefix"); is {
		o.root = prefix
	}
	if !ordered.ValidRoot(o.root) {
		return &store.OptionError{Option: "prefix", Value: o.root, Want: "1 to 64 letters, digits, hyphens and underscores"}
	}
	risky, err := given.Choose(causalReadRisky, "true", "false")
	if err != nil {
		return err
	}
	o.riskyReads = risky == "true"
	return given.None("prefix, " + causalReadRisky)
}

// causalReadRisky is an option under which a read version is committed, but may not be the latest
// after a fault together with a wrong clock (Go binding, SetCausalReadRisky).
const causalReadRisky = "causal_read_risky"

// parseSchema is parse for a schema. Transactions of several statements rely on strict
// serializability; other reads are judged by their promise.
func parseSchema(target store.Target, of *store.Schema) (options, error) {
	o, err := parse(target)
	switch {
	case err != nil:
		return options{}, err
	// No other member can be asked: all reads are of one version, whichever storage server answers.
	case target.Read != "" && target.Read != store.ReadPrimary:
		return options{}, &store.OptionError{Option: "--read", Value: target.Read, Want: store.ReadPrimary}
	case o.riskyReads && of.Transactions:
		return options{}, &store.OptionError{Option: causalReadRisky, Value: "true",
			Want: "a workload such as availability or entity; those with transactions of several statements rely on " + level + " ones"}
	}
	return o, nil
}

// Lacks returns FoundationDB's missing capabilities.
func Lacks() store.Lacks {
	return store.Lacks{
		store.UpdateInPlace: "FoundationDB's own append does nothing, without an error, when the value would become too large",
		store.Compactions:   "FoundationDB gives space back by itself and has no repair to be asked for, and it tells the size of its disks, not that of a range exactly",
		store.Language:      "a script's statements are SQL, or commands on documents",
		store.SQL:           "FoundationDB has no SQL",
		store.Documents:     "FoundationDB has keys and values, and no rows within others",
	}
}
