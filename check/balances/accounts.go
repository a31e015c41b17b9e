package balances

import (
	"fmt"
	"slices"
	"strings"

	"assay/check"
)

// knownAccounts compares the accounts of each read with those that there are:
// the ones that were given, or else all that any read or transfer named.
type knownAccounts struct {
	given    bool
	expected int // how many were given
	all      map[string]struct{}
	// sizes counts the reads by how many accounts they have; shortest is one of
	// those with the fewest.
	sizes    map[int]int64
	shortest *Read

	// lacking and foreign count the reads that lack an account of those given,
	// or have another.
	lacking, foreign int64
	evidence         []check.Evidence
}

func newKnownAccounts(given []string) knownAccounts {
	k := knownAccounts{given: len(given) > 0, all: map[string]struct{}{}, sizes: map[int]int64{}}
	for _, id := range given {
		k.all[id] = struct{}{}
	}
	k.expected = len(k.all)
	return k
}

func (k *knownAccounts) add(id string) {
	if !k.given {
		k.all[id] = struct{}{}
	}
}

// read takes note of the accounts of a read, each of which it names once.
func (k *knownAccounts) read(r *Read) {
	if k.given {
		k.compare(r)
		return
	}
	for i := range r.Accounts {
		k.all[r.Accounts[i].ID] = struct{}{}
	}
	k.sizes[len(r.Accounts)]++
	if k.shortest == nil || len(r.Accounts) < len(k.shortest.Accounts) {
		copied := *r
		copied.Accounts = slices.Clone(r.Accounts)
		k.shortest = &copied
	}
}

// compare judges a read by the accounts that were given.
func (k *knownAccounts) compare(r *Read) {
	found := 0
	var other string
	for i := range r.Accounts {
		if _, known := k.all[r.Accounts[i].ID]; known {
			found++
		} else {
			other = r.Accounts[i].ID
		}
	}
	if found < k.expected {
		k.lacking++
		k.describe(r, kindLacking, "has no account "+strings.Join(k.absent(r), ", "))
	}
	if found < len(r.Accounts) {
		k.foreign++
		k.describe(r, kindForeign, "has account "+other+", which is none of the bank's")
	}
}

func (k *knownAccounts) describe(r *Read, kind, what string) {
	if len(k.evidence) < check.MaxEvidence {
		k.evidence = append(k.evidence, check.Evidence{Kind: kind, Fields: r.fields(), Text: fmt.Sprintf("%s %s", r, what)})
	}
}

// absent names accounts that a read lacks, a few of them.
func (k *knownAccounts) absent(r *Read) []string {
	has := map[string]struct{}{}
	for i := range r.Accounts {
		has[r.Accounts[i].ID] = struct{}{}
	}
	var out []string
	for id := range k.all {
		if _, there := has[id]; !there {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	if len(out) > maxShown {
		out = append(out[:maxShown], "...")
	}
	return out
}

// undecided describes the reads that lack an account which others have, if
// nobody said which accounts there are; it is empty if there are none.
func (k *knownAccounts) undecided() string {
	short := int64(0)
	for size, reads := range k.sizes {
		if size < len(k.all) {
			short += reads
		}
	}
	if k.given || short == 0 {
		return ""
	}
	verb := "lack"
	if short == 1 {
		verb = "lacks"
	}
	return fmt.Sprintf("%s %s an account that other reads or transfers name (%s has no account %s), so nothing can be said; name the bank's accounts",
		plural(short, "read"), verb, k.shortest, strings.Join(k.absent(k.shortest), ", "))
}
