package sqlite

import (
	"cmp"
	"net/url"
	"path/filepath"
	"strings"

	"assay/driver/uri"
	"assay/store"
)

type options struct {
	// name is the file as the user wrote it, path its absolute path.
	name, path string
	// journal and synchronous are values of the PRAGMAs.
	journal, synchronous string
}

const scheme = "sqlite:"

// parse reads sqlite:PATH?synchronous=...&journal=... The path ends at the first question mark and
// is not percent-decoded. It returns *store.OptionError.
func parse(target store.Target) (options, error) {
	var o options
	rest, found := strings.CutPrefix(target.Address, scheme)
	name, query, _ := strings.Cut(rest, "?")
	bare := strings.TrimPrefix(name, "//")
	if !found || bare == "" || bare != name && !strings.HasPrefix(bare, "/") || strings.HasPrefix(name, ":memory:") {
		return o, &store.OptionError{Option: "address", Value: store.Redact(target.Address),
			Want: "sqlite:PATH with the path of a file, such as sqlite:bank.db or sqlite:/var/tmp/bank.db"}
	}
	path, err := filepath.Abs(bare)
	if err != nil {
		return o, &store.OptionError{Option: "path", Value: bare, Want: "an absolute path, since the working directory is gone"}
	}
	o.name, o.path = bare, path
	if asked := target.Isolation; asked != "" && asked != level {
		return o, &store.OptionError{Option: "isolation", Value: asked, Want: level + ", which is all that SQLite has"}
	}
	return o, o.read(query)
}

func (o *options) read(query string) error {
	given, err := uri.ReadOptions(query)
	if err != nil {
		return err
	}
	journal, err := given.Choose("journal", "wal", "delete", "truncate")
	if err != nil {
		return err
	}
	synchronous, err := given.Choose("synchronous", "full", "normal", "off", "extra")
	if err != nil {
		return err
	}
	o.journal, o.synchronous = cmp.Or(journal, "wal"), cmp.Or(synchronous, "full")
	return given.None(optionNames)
}

const optionNames = "journal and synchronous"

// dsn is for the library. mode is SQLite's: "rw" for an existing file, "rwc" to create it.
func (o options) dsn(mode string, parameters ...string) string {
	file := url.URL{Scheme: "file", Path: filepath.ToSlash(o.path)}
	return file.String() + "?" + strings.Join(append([]string{"mode=" + mode, "_error_rc=1"}, parameters...), "&")
}
