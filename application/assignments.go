package application

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"assay/application/wire"
)

// assignment is a column that a statement sets, in capitals, without its table and quotes.
type assignment struct {
	column string
	// own is true of one that is computed from itself, and grows if that gives another value each time:
	// there is an operator of arithmetic, or a function that adds to it. What else may be done to it, such
	// as coalesce, || of JSON or a query, may give the same again.
	own, grows bool
}

// grows reports whether a statement computes a column of its table from itself that nothing has reset.
func grows(s *wire.Statement, table string, gone, between *removed) bool {
	all := assigned(s.Shape)
	reset := func(a assignment) bool {
		return a.own && (gone.reset[table+"."+a.column] || between.reset[table+"."+a.column])
	}
	return slices.ContainsFunc(all, func(a assignment) bool { return a.grows }) && !slices.ContainsFunc(all, reset)
}

const onDuplicate = " ON DUPLICATE KEY UPDATE "

var (
	// newForm is a column of the row that an upsert was to insert.
	newForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\bVALUES ?\([^)]*\)|\bEXCLUDED\.[^\s,()+*/-]+`)
	})
	// aliasForm is the name that MySQL gives such a row (MySQL 8.4, "INSERT ... ON DUPLICATE KEY UPDATE").
	aliasForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\) ?AS (\S+?)(?: ?\([^()]*\))?` + onDuplicate)
	})
)

// assigned are the columns that a statement sets, also where it updates a row that it finds in place of
// inserting one.
func assigned(shape string) (all []assignment) {
	upper := strings.NewReplacer(`"`, "", "`", "").Replace(strings.ToUpper(shape))
	before, set, found := strings.Cut(upper, onDuplicate)
	if !found {
		before, set, found = strings.Cut(upper, " SET ")
	}
	if !found {
		return nil
	}
	set, _, _ = strings.Cut(set, " WHERE ")
	if merges(shape) {
		set, _, _ = strings.Cut(set, " WHEN ")
	}
	fresh := ""
	if form := aliasForm().FindStringSubmatch(upper); form != nil {
		fresh = form[1]
	}
	tables := strings.FieldsFunc(before, func(c rune) bool { return strings.ContainsRune(" ,().", c) })
	for _, part := range outside(set) {
		column, value, is := strings.Cut(part, "=")
		if !is {
			continue
		}
		value = strings.ReplaceAll(newForm().ReplaceAllString(value, " "), "->", " ") // of JSON, too
		words := strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune(" ,()|+-*/", c) })
		of, column := qualified(strings.TrimSpace(column))
		a := assignment{column: column}
		known := false // that the column is read of this table, and not of another's
		for _, word := range words {
			if table, name := qualified(word); name == column && (table == "" || table != fresh) {
				a.own = true
				known = known || table == "" || table == of || of == "" && slices.Contains(tables, table)
			}
		}
		adds := strings.ContainsAny(value, "+-*/") || slices.ContainsFunc(adders(), func(name string) bool { return slices.Contains(words, name) })
		a.grows = known && adds && !slices.Contains(words, "SELECT")
		all = append(all, a)
	}
	return all
}

// qualified is a column's name, and its table's; empty where there is none.
func qualified(word string) (table, column string) {
	at := strings.LastIndex(word, ".")
	if at < 0 {
		return "", word
	}
	return bare(word[:at]), word[at+1:]
}

// outside are the parts of a list between its commas that are in no parentheses.
func outside(list string) (parts []string) {
	depth, from := 0, 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth <= 0:
			parts, from = append(parts, list[from:i]), i+1
		}
	}
	return append(parts, list[from:])
}

// adders are the functions that add to a value.
func adders() []string {
	return []string{"CONCAT", "CONCAT_WS", "ARRAY_APPEND", "ARRAY_PREPEND", "ARRAY_CAT", "JSON_ARRAY_APPEND"}
}
