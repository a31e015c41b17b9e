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

// statements are a script's sent texts, each examined once. It is safe for concurrent use.
type statements struct {
	// anySchema permits tables outside assay's schema.
	anySchema bool
	// existing is true if the tables are not assay's: none is made, altered or dropped.
	existing bool
	// language is 0 if unknown.
	language Language
	// sharded is true if collections are sharded by _id.
	sharded bool
	// made are the collections that setup makes; nil if unknown.
	made  map[string]bool
	known sync.Map // text: *statement
	count atomic.Int64
}

// maxStatements bounds the distinct statements, since each session prepares and keeps all.
const maxStatements = 1000

type statement struct {
	// text has no final semicolon.
	text       string
	reads      bool
	parameters int
	err        error // of its use in a transaction
	// footprint is set on first use.
	footprint atomic.Pointer[footprint]
}

// inTransaction examines a statement of a transaction.
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
	case of.parameters == 0 && parameters > 0:
		return nil, fmt.Errorf("the statement has no parameters, and %d values are given; write $1, $2 and so on where they belong", parameters)
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

// inSetupFile examines a statement split by PostgreSQL's rules, which know dollar quotes and
// bodies.
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

// single returns the tokens of a single statement, and its text without a final semicolon.
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

// wordsIn is nil if the text cannot be split.
func wordsIn(text string) []access.Word {
	all, _, _ := single(text)
	return all
}

// transactionWords begin permitted statements. Others commit the transaction in some databases.
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

// mayBeInSetup refuses what could change something outside the schema, whatever its name.
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
