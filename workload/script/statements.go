package script

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"assay/workload/script/access"
)

// statements are the texts that a script has sent, each looked at once. It is safe for
// concurrent use.
type statements struct {
	// anySchema allows what lies outside of assay's schema.
	anySchema bool
	// existing is true if the tables are not assay's: none is made, altered or dropped.
	existing bool
	// language is the database's; 0 where it is not known.
	language Language
	// sharded is whether the collections are sharded by _id.
	sharded bool
	// made are the collections that setup makes; nil where that is not known.
	made  map[string]bool
	known sync.Map // text: *statement
	count atomic.Int64
}

// maxStatements bounds how many different statements a script has, since each session
// prepares and keeps all of them.
const maxStatements = 1000

// statement is what is known of a text.
type statement struct {
	// text is without a semicolon at its end.
	text string
	// reads is true if it is a query.
	reads      bool
	parameters int
	err        error // of its use in a transaction
	// footprint is what it reads and writes, once somebody has asked.
	footprint atomic.Pointer[footprint]
}

// inTransaction is a statement of a transaction with so many parameters.
func (s *statements) inTransaction(text string, parameters int) (*statement, error) {
	found, known := s.known.Load(text)
	if !known {
		if s.count.Add(1) > maxStatements {
			return nil, fmt.Errorf("the script has sent more than %d different statements; give what differs as parameters ($1, $2)", maxStatements)
		}
		found, _ = s.known.LoadOrStore(text, s.inspect(text))
	}
	of := found.(*statement)
	switch {
	case of.err != nil:
		return nil, of.err
	case of.parameters != parameters:
		return nil, fmt.Errorf("the statement has the parameters $1 to $%d, and %d values are given", of.parameters, parameters)
	}
	return of, nil
}

func (s *statements) inspect(text string) *statement {
	all, text, err := single(text)
	of := &statement{text: text, err: err}
	if err != nil {
		return of
	}
	used := map[int]bool{}
	for _, t := range all {
		if t.Kind == access.Parameter {
			n, _ := strconv.Atoi(t.Text)
			used[n] = true
			of.parameters = max(of.parameters, n)
		}
	}
	for n := 1; n <= of.parameters && of.err == nil; n++ {
		if !used[n] {
			of.err = fmt.Errorf("the statement has $%d and no $%d", of.parameters, n)
		}
	}
	if of.err == nil {
		of.err = mayBeInTransaction(all)
	}
	if of.err == nil {
		of.err = s.within(all)
	}
	of.reads = all[0].Is("select", "values", "table", "with")
	return of
}

// inSetup returns a statement of setup without its semicolon.
func (s *statements) inSetup(text string) (string, error) {
	all, text, err := single(text)
	if err == nil {
		for _, t := range all {
			if t.Kind == access.Parameter {
				return "", errors.New("a statement of setup has no parameters; write the value into it, or use db.insert")
			}
		}
		err = s.maySetUp(all)
	}
	return text, err
}

// inSetupFile looks at a statement of a file of SQL, which was split by PostgreSQL's rules: it
// may have dollar quotes, and semicolons in the body of a function.
func (s *statements) inSetupFile(text string) error {
	all, err := wholeTokens(text)
	if err == nil && len(all) == 0 {
		err = errors.New("the statement is empty")
	}
	if err == nil {
		err = s.maySetUp(all)
	}
	return err
}

func (s *statements) maySetUp(all []access.Word) error {
	err := noTransactionControl(all)
	if err == nil && !s.anySchema {
		err = mayBeInSetup(all)
	}
	if err == nil {
		err = s.within(all)
	}
	return err
}

// single are the tokens of a text that is one statement, and the text without a
// semicolon at its end.
func single(text string) ([]access.Word, string, error) {
	all, err := tokens(text)
	if at := (*sqlError)(nil); errors.As(err, &at) {
		return nil, "", fmt.Errorf("the statement cannot be used at its character %d: %s", at.at+1, at.reason)
	}
	if n := len(all) - 1; n >= 0 && all[n].Sign(";") {
		text, all = text[:all[n].Start], all[:n]
	}
	if len(all) == 0 {
		return nil, "", errors.New("the statement is empty")
	}
	for _, t := range all {
		if t.Sign(";") {
			return nil, "", errors.New("there are several statements in one text; send them one by one")
		}
	}
	return all, text, nil
}

// wordsIn are the words of a text; nil if it cannot be taken apart.
func wordsIn(text string) []access.Word {
	all, _, _ := single(text)
	return all
}

// transactionWords begin what a transaction may consist of. Other statements commit it in
// some databases, or are none of a transaction.
func transactionWords() []string {
	return []string{"select", "with", "values", "insert", "update", "delete", "replace", "merge"}
}

func mayBeInTransaction(all []access.Word) error {
	if err := noTransactionControl(all); err != nil {
		return err
	}
	begin := all[0]
	for _, t := range all {
		if !t.Sign("(") {
			begin = t
			break
		}
	}
	if !begin.Is(transactionWords()...) {
		return fmt.Errorf("a transaction cannot have a statement that begins with %q; it can have: %s", begin.Text, strings.Join(transactionWords(), ", "))
	}
	for i, t := range all[:len(all)-1] {
		if t.Is("into") && all[i+1].Is("outfile", "dumpfile") {
			return errors.New("a statement cannot write files of the server")
		}
	}
	return nil
}

func noTransactionControl(all []access.Word) error {
	if all[0].Is("begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare", "execute", "call", "do", "xa", "set", "lock", "unlock") {
		return fmt.Errorf("%s cannot be used: assay begins and ends each transaction itself; reject(\"reason\") ends one without effect", strings.ToUpper(all[0].Text))
	}
	return nil
}

// mayBeInSetup refuses what could change something outside of the schema, however it is
// named.
func mayBeInSetup(all []access.Word) error {
	if all[0].Is(append(transactionWords(), "truncate", "analyze")...) {
		return nil
	}
	if all[0].Is("create", "alter", "drop") {
		for _, t := range all[1:] {
			switch {
			case t.Is("table", "index", "view", "sequence", "type"):
				return nil
			case t.Is("or", "replace", "unique", "temporary", "temp", "unlogged", "materialized", "local", "if", "not", "exists"):
				continue
			}
			return fmt.Errorf("setup cannot %s %s: only tables, indexes, views, sequences and types, unless --allow-foreign is given",
				strings.ToLower(all[0].Text), t.Text)
		}
	}
	return fmt.Errorf("setup cannot have a statement that begins with %q unless --allow-foreign is given", all[0].Text)
}
