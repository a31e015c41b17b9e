package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"assay/workload"
)

const (
	databaseVariable = "ASSAY_DB"
	// filePrefix and environmentPrefix begin a --db that says where the address
	// is to be found.
	filePrefix        = "@"
	environmentPrefix = "env:"
	databaseUsage     = "the database's address, @FILE or env:NAME that holds it; may come from " + databaseVariable + " (all three keep a password off the command line)"
)

// mostAddress is how long a file with an address may be, in bytes.
const mostAddress = 64 << 10

// databaseAddress returns the address that a --db names, password included, or
// that of the environment if there is no --db; both may be empty. A password
// on the command line is warned of: every user of the machine can read it.
// Errors are usage errors and hold nothing of the address.
func databaseAddress(db string, stderr io.Writer) (string, error) {
	if path, is := strings.CutPrefix(db, filePrefix); is {
		return addressInFile(path)
	}
	if name, is := strings.CutPrefix(db, environmentPrefix); is {
		address := strings.TrimSpace(os.Getenv(name))
		if address == "" {
			return "", usageError{fmt.Errorf("--db env:%s: the environment has no variable %s, or it is empty", name, name)}
		}
		return address, nil
	}
	if db == "" {
		return os.Getenv(databaseVariable), nil
	}
	if workload.HoldsPassword(db) {
		fmt.Fprintf(stderr, "warning: --db has a password, which every user of this machine can read in the list of processes; use %s, --db @FILE or --db env:NAME\n", databaseVariable)
	}
	return db, nil
}

// addressInFile reads a file that holds an address and nothing else.
func addressInFile(path string) (string, error) {
	bad := func(err error) (string, error) { return "", usageError{fmt.Errorf("--db @%s: %w", path, err)} }
	file, err := os.Open(path)
	if err != nil {
		return bad(errors.Unwrap(err)) // without the path, which is there already
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, mostAddress))
	if err != nil {
		return bad(errors.Unwrap(err))
	}
	address := strings.TrimSpace(string(text))
	if address == "" || strings.ContainsAny(address, "\r\n") {
		return bad(errors.New("the file is to hold one line, the database's address"))
	}
	return address, nil
}
