package script

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"assay/store"
)

// ScriptLanguage is the language of a script.
type ScriptLanguage string

const (
	StarlarkLanguage ScriptLanguage = "starlark"
	PgbenchLanguage  ScriptLanguage = "pgbench"
)

// languageOfScripts is the chosen language or, without one, the files' own.
func (c *Config) languageOfScripts() (ScriptLanguage, error) {
	switch c.Language {
	case StarlarkLanguage, PgbenchLanguage:
		return c.Language, nil
	case "":
	default:
		return "", &store.OptionError{Option: "--language", Value: string(c.Language), Want: "pgbench or starlark"}
	}
	first, err := languageOfText(c.File, string(c.Text))
	for _, more := range c.More {
		next, wrong := languageOfText(more.File, string(more.Text))
		switch {
		case err != nil:
		case wrong != nil:
			err = wrong
		case next != first:
			err = &Error{File: more.File, Reason: fmt.Sprintf("it is in another language than %s", c.File), Advice: "give scripts of one language, or --language"}
		}
	}
	return first, err
}

// languageOfText recognizes the first statement, or an empty text's file name. Text in neither
// language gives an *Error.
func languageOfText(path, text string) (ScriptLanguage, error) {
	b := beginning{rest: text}
	if strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
		return "", neither(path, 1, "it is no text in UTF-8")
	}
	for b.comment() {
	}
	if b.language != "" {
		return b.language, nil
	}
	line := strings.Count(text[:len(text)-len(b.rest)], "\n") + 1
	first := b.rest[:nameEnd(b.rest)]
	behind := strings.TrimLeft(b.rest[len(first):], " \t")
	switch {
	case strings.HasPrefix(text, "#!"):
		return "", neither(path, 1, "it is a program for another interpreter: "+firstLine(text))
	case b.rest == "" && strings.EqualFold(filepath.Ext(path), ".sql"):
		return PgbenchLanguage, nil
	case b.rest == "":
		return StarlarkLanguage, nil
	case isStarlark(first, behind):
		return StarlarkLanguage, nil
	case isSQL(first, behind):
		return PgbenchLanguage, nil
	}
	return "", neither(path, line, fmt.Sprintf("no statement of SQL, no command of pgbench and no statement of Starlark begins with %q", firstLine(b.rest)))
}

func neither(path string, line int, reason string) error {
	return &Error{File: path, Line: line, Column: 1, Reason: reason,
		Advice: "write the script in pgbench's language or in Starlark (docs/guides/my-transaction.md), or say which it is by --language"}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > 40 {
		line = string(runes[:40]) + "..."
	}
	return line
}

// beginning skips what comes before the first statement.
type beginning struct {
	rest string
	// language is set if a comment or sign reveals it.
	language ScriptLanguage
}

// comment skips spaces and a comment; false if there is none.
func (b *beginning) comment() bool {
	b.rest = strings.TrimLeft(strings.TrimPrefix(b.rest, "\ufeff"), " \t\r\n\f\v;")
	switch {
	case strings.HasPrefix(b.rest, "#"):
		_, b.rest, _ = strings.Cut(b.rest, "\n")
		return true
	case strings.HasPrefix(b.rest, "--"), strings.HasPrefix(b.rest, "/*"), strings.HasPrefix(b.rest, "\\"):
		b.language = PgbenchLanguage
	case strings.HasPrefix(b.rest, `"""`), strings.HasPrefix(b.rest, `'''`):
		b.language = StarlarkLanguage
	}
	return false
}

func nameEnd(text string) int {
	for i, c := range text {
		if !beginsName(c) && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(text)
}

// isStarlark reports whether a word and the text behind begin a Starlark statement.
func isStarlark(first, behind string) bool {
	switch first {
	case "":
		return strings.HasPrefix(behind, "[") // an expression, which has no use
	case "def", "for", "if", "pass":
		return !strings.HasPrefix(behind, "=") || strings.HasPrefix(behind, "==")
	case "load", "transaction", "invariant", "counted", "listed", "param", "fail", "print":
		return strings.HasPrefix(behind, "(")
	}
	assigns := strings.HasPrefix(behind, "=") && !strings.HasPrefix(behind, "==")
	for _, sign := range []string{"+=", "-=", "*=", ","} {
		assigns = assigns || strings.HasPrefix(behind, sign)
	}
	return assigns || strings.HasPrefix(behind, "(") && !isStatementWord(first)
}

// isSQL reports whether a word begins an SQL statement.
func isSQL(first, behind string) bool {
	switch lower := strings.ToLower(first); lower {
	case "":
		return strings.HasPrefix(behind, "(") || strings.HasPrefix(behind, ":")
	case "import":
		return strings.HasPrefix(strings.ToLower(behind), "foreign ")
	default:
		return isStatementWord(lower) && !strings.HasPrefix(behind, ":") && !strings.HasPrefix(behind, ".")
	}
}

// isStatementWord knows the statements of PostgreSQL, MySQL and SQLite.
func isStatementWord(word string) bool {
	return slices.Contains([]string{"abort", "alter", "analyze", "attach", "begin", "call", "checkpoint", "close", "cluster", "comment", "commit", "copy", "create",
		"deallocate", "declare", "delete", "detach", "discard", "do", "drop", "end", "execute", "explain", "fetch", "flush", "grant", "insert", "listen", "load", "lock",
		"merge", "move", "notify", "optimize", "pragma", "prepare", "reassign", "refresh", "reindex", "release", "replace", "reset", "revoke", "rollback", "savepoint",
		"security", "select", "set", "show", "start", "table", "truncate", "unlisten", "unlock", "update", "use", "vacuum", "values", "with", "xa"}, strings.ToLower(word))
}
