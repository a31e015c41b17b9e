package script

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"assay/store"
	"assay/workload/script/access"
)

// written describes a statement that is sent verbatim.
type written struct {
	kind store.TextKind
	// reads and writes are tables.
	reads, writes []string
}

// asWritten refuses what the guard refuses, and says what the statement does to its transaction.
func (s *statements) asWritten(text string) (of written, err error) {
	all, err := wholeTokens(text)
	if err != nil || len(all) == 0 {
		of.kind = store.NoEffect // of nothing
		return of, err
	}
	if err := s.within(all); err != nil {
		return of, err
	}
	if of.kind = kindOfTokens(all); !s.anySchema || s.existing {
		err = mayBeWritten(all)
	}
	temporary := all[0].Is("create") && at(all, 1).Is("temporary", "temp")
	if err == nil && s.existing && of.kind == store.Defines && !temporary && !all[0].Is("truncate", "analyze") {
		err = fmt.Errorf("%s cannot be used with --use-existing: tables that were there before are read and written, and never made, altered or dropped", strings.ToUpper(all[0].Text))
	}
	if err != nil {
		return of, err
	}
	of.reads, of.writes = tablesOf(all)
	if len(of.writes) == 0 && (of.kind == store.Writes || of.kind == store.Anything && all[0].Is("call", "execute")) {
		of.writes = append(of.writes, store.WrittenByFunctions)
	}
	for _, t := range all { // what stands in dollar quotes may be a program
		if t.Kind != access.Body || !all[0].Is("do", "create", "alter") {
			continue
		}
		inside, err := wholeTokens(strings.Trim(t.Text[strings.IndexByte(t.Text[1:], '$')+2:], "$"))
		if err == nil {
			err = s.within(inside)
		}
		if err != nil {
			return of, err
		}
		reads, writes := tablesOf(inside)
		of.reads, of.writes = append(of.reads, reads...), append(of.writes, writes...)
	}
	return of, nil
}

// kindOfTokens is what a statement does to its transaction (PostgreSQL manual, "SQL Commands";
// MySQL manual, "Statements That Cause an Implicit Commit").
func kindOfTokens(all []access.Word) store.TextKind {
	first := all[0]
	has := func(words ...string) bool {
		return slices.ContainsFunc(all[1:], func(t access.Word) bool { return t.Is(words...) })
	}
	switch {
	case first.Is("select", "values", "table", "with") || first.Sign("("):
		return kindOfQuery(all)
	case first.Is("insert", "update", "delete", "merge", "replace"):
		return store.Writes
	case first.Is("begin") || first.Is("start") && at(all, 1).Is("transaction"):
		return store.Begins
	case first.Is("commit", "end") && !has("prepared"):
		return store.Commits
	case first.Is("rollback", "abort") && !has("prepared", "to"):
		return store.RollsBack
	case first.Is("rollback") && has("to"), first.Is("savepoint", "release", "show", "reset", "deallocate", "discard", "fetch", "close", "move", "listen", "unlisten"):
		return store.NoEffect
	case first.Is("declare"), first.Is("set") && !has("autocommit"): // SET @a = f(), or a cursor over f()
		return kindOfQuery(all)
	case first.Is("prepare") && !at(all, 1).Is("transaction"):
		return store.NoEffect
	case first.Is("explain") && !has("analyze", "analyse"):
		return store.NoEffect
	case first.Is("explain"):
		return store.Writes
	case first.Is("create", "alter", "drop", "truncate", "analyze", "comment", "refresh") && !has("concurrently"):
		return store.Defines
	}
	return store.Anything
}

// kindOfQuery: a query may write by an unknown function or a part of WITH.
func kindOfQuery(all []access.Word) store.TextKind {
	kind := store.NoEffect
	for i, t := range all {
		switch {
		case t.Is("into") && !at(all, i-1).Is("insert", "merge"):
			return store.Defines
		case t.Is("insert", "update", "delete", "merge") && !at(all, i-1).Is("for", "no", "key"):
			kind = store.Writes
		case t.Named() && next(all, i).Sign("(") && !t.Is(withoutEffect()...) && !at(all, i-1).Is("as") && !namesPart(all, i):
			kind = store.Writes
		}
	}
	return kind
}

// namesPart reports whether a word before a parenthesis names a part of WITH: after its columns AS
// and another parenthesis follow.
func namesPart(all []access.Word, i int) bool {
	depth := 0
	for n := i + 1; n < len(all); n++ {
		switch {
		case all[n].Sign("("):
			depth++
		case all[n].Sign(")"):
			depth--
		}
		if depth == 0 {
			return at(all, n+1).Is("as") && (at(all, n+2).Sign("(") || at(all, n+2).Is("not", "materialized"))
		}
	}
	return false
}

// withoutEffect are words before a parenthesis that call no function or a harmless one.
func withoutEffect() []string {
	return []string{"select", "from", "where", "in", "and", "or", "not", "exists", "any", "all", "some", "on", "using", "values", "as", "by", "over", "filter", "within",
		"group", "having", "limit", "union", "except", "intersect", "join", "lateral", "when", "then", "else", "case", "distinct", "row", "array", "between", "materialized",
		"count", "sum", "avg", "min", "max", "coalesce", "nullif", "greatest", "least", "abs", "round", "floor", "ceil", "ceiling", "mod", "power", "sqrt", "sign", "trunc",
		"length", "char_length", "lower", "upper", "substr", "substring", "trim", "concat", "replace", "position", "md5", "cast", "extract", "date_trunc", "now", "random",
		"generate_series", "unnest", "string_agg", "array_agg", "bool_and", "bool_or", "row_number", "rank", "lag", "lead", "varchar", "char", "numeric", "decimal"}
}

// mayBeWritten refuses what could change something outside the schema, whatever its name.
func mayBeWritten(all []access.Word) error {
	first := all[0]
	refused := func(why string) error {
		return fmt.Errorf("%s cannot be used: %s, unless --allow-foreign is given", strings.ToUpper(first.Text), why)
	}
	has := func(words ...string) bool {
		return slices.ContainsFunc(all, func(t access.Word) bool { return t.Is(words...) })
	}
	switch {
	case first.Is("create", "alter", "drop", "comment"):
		if first.Is("comment") {
			return nil
		}
		return mayBeInSetup(all)
	case first.Is("prepare", "commit", "rollback") && (at(all, 1).Is("transaction") && first.Is("prepare") || at(all, 1).Is("prepared")):
		return refused("a prepared transaction outlasts its session")
	case first.Is("set") && has("search_path", "global", "persist", "role", "authorization", "session_authorization", "schema", "password"):
		return refused("it reaches beyond assay's schema and this session")
	case first.Is("into") || has("outfile", "dumpfile"):
		return errors.New("a statement cannot write files of the server")
	case first.Kind == access.Sign, first.Is(append(transactionWords(), "table", "begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "show", "reset",
		"deallocate", "discard", "declare", "fetch", "close", "move", "listen", "unlisten", "notify", "set", "prepare", "execute", "explain", "truncate", "analyze", "refresh",
		"vacuum", "reindex", "cluster", "lock", "unlock", "call", "do")...):
		return nil
	}
	return refused("what it changes may lie outside of assay's schema")
}

// tablesOf are the tables that a statement reads and changes, without those that WITH defines.
func tablesOf(all []access.Word) (reads, writes []string) {
	defined := map[string]bool{}
	for i, t := range all {
		if t.Named() && (next(all, i).Is("as") && all[0].Is("with") && (at(all, i-1).Is("with", "recursive") || at(all, i-1).Text == ",")) {
			defined[strings.ToLower(t.Text)] = true
		}
	}
	last := -1 // the last token of a list of tables
	for i, t := range all {
		listed := last >= 0 && i > 0 && all[i-1].Sign(",") && i-last <= 4 && next(all, last).Text != "("
		if !t.Named() || dotAt(all, i-1) || !listed && !tableAt(all, i) || t.Is("only", "lateral", "select", "table", "if", "values", "set") {
			continue
		}
		name := t.Text
		end := i
		for dotAt(all, end+1) && end+2 < len(all) {
			name, end = name+"."+all[end+2].Text, end+2
		}
		if n := next(all, end); n.Text == "(" && n.Kind == access.Sign && !at(all, i-1).Is("into", "table") || defined[strings.ToLower(name)] {
			continue // a function
		}
		last = end
		before := at(all, i-1)
		writing := before.Is("update", "into", "truncate") || before.Is("from") && at(all, i-2).Is("delete") || before.Is("only") && at(all, i-2).Is("update") ||
			before.Is("table") && (all[0].Is("truncate", "alter", "drop"))
		if writing && !slices.Contains(writes, name) {
			writes = append(writes, name)
		} else if !writing && !slices.Contains(reads, name) {
			reads = append(reads, name)
		}
	}
	return reads, writes
}
