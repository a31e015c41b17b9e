package statement

import "strings"

// Effect is what a statement does, as far as its first words tell.
type Effect uint8

// The effects.
const (
	// Other is none of the following, such as SET, SAVEPOINT or CREATE TABLE.
	Other Effect = iota
	Reads
	Writes
	Begins
	Commits
	RollsBack
	// Copies moves rows that are not in the text (COPY, LOAD DATA), and Replicates is a
	// command of replication.
	Copies
	Replicates
	// Several are statements in one text.
	Several
	Empty
)

// words are the first words of a text in lower case, up to n of them, without signs and
// comments.
func words(statement string, dialect Dialect, n int) (first [3]string) {
	s := scanner{text: statement, dialect: dialect}
	for i := 0; i < n; {
		t, found := s.next()
		if !found {
			break
		}
		if t.kind == word {
			first[i] = strings.ToLower(statement[t.start:t.end])
			i++
		}
	}
	return first
}

// EffectOf tells what a statement does.
func EffectOf(statement string, dialect Dialect) Effect {
	if several(statement, dialect) {
		return Several
	}
	first := words(statement, dialect, 3)
	switch first[0] {
	case "":
		return Empty
	case "select", "values", "table", "show", "fetch", "explain", "describe", "desc":
		if first[0] == "select" && writesWithin(statement, dialect, "into") {
			return Writes
		}
		return Reads
	case "with":
		if writesWithin(statement, dialect, "insert", "update", "delete", "merge") {
			return Writes
		}
		return Reads
	case "insert", "update", "delete", "merge", "replace", "truncate":
		return Writes
	case "begin":
		return Begins
	case "start":
		if first[1] == "transaction" {
			return Begins
		}
	case "commit", "end":
		if first[1] == "prepared" {
			return Other
		}
		return Commits
	case "rollback", "abort":
		if first[1] == "to" || first[2] == "to" || first[1] == "prepared" {
			return Other
		}
		return RollsBack
	case "prepare":
		if first[1] == "transaction" {
			return Commits
		}
	case "copy", "load":
		return Copies
	}
	if dialect == Postgres && replicates(first[0]) {
		return Replicates
	}
	return Other
}

// replicates reports whether a word begins a command of PostgreSQL's "Streaming Replication
// Protocol".
func replicates(first string) bool {
	switch first {
	case "start_replication", "identify_system", "base_backup", "create_replication_slot", "drop_replication_slot",
		"timeline_history", "read_replication_slot", "alter_replication_slot", "upload_manifest":
		return true
	}
	return false
}

// several reports whether something follows a semicolon.
func several(statement string, dialect Dialect) bool {
	if !strings.Contains(statement, ";") {
		return false
	}
	s := scanner{text: statement, dialect: dialect}
	ended := false
	for {
		t, found := s.next()
		switch {
		case !found:
			return false
		case t.kind == comment:
		case statement[t.start:t.end] == ";":
			ended = true
		case ended:
			return true
		}
	}
}

func writesWithin(statement string, dialect Dialect, any ...string) bool {
	s := scanner{text: statement, dialect: dialect}
	for {
		t, found := s.next()
		if !found {
			return false
		}
		if t.kind != word {
			continue
		}
		for _, w := range any {
			if strings.EqualFold(statement[t.start:t.end], w) {
				return true
			}
		}
	}
}
