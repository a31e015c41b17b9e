package script

import (
	"fmt"
	"strings"
)

// within refuses a statement that names something outside of the schema: a name with a
// qualifier where a table stands, and a qualifier anywhere that the statement does not
// itself name as a table or an alias. The marker and the lease are never touched.
//
// It is a guard against mistakes. A statement that is written to deceive it can: by a
// function of the server that runs a text as SQL, or one that has side effects of its own.
func (s *statements) within(all []token) error {
	for _, t := range all {
		if err := reserved(t.text); err != nil && t.named() {
			return err
		}
	}
	if s.anySchema {
		return nil
	}
	plain := map[string]bool{"excluded": true, "new": true, "old": true, "inserted": true}
	for i, t := range all {
		if t.named() && !dotAt(all, i-1) && !dotAt(all, i+1) {
			plain[strings.ToLower(t.text)] = true
		}
	}
	for i := range all {
		if !dotAt(all, i) || i == 0 || dotAt(all, i-2) {
			continue
		}
		before := all[i-1]
		if before.kind == sign && before.text == ")" { // a field of a value
			continue
		}
		name := before.text + "." + next(all, i).text
		switch {
		case !before.named(), dotAt(all, i+2), tableAt(all, i-1), !plain[strings.ToLower(before.text)]:
			return fmt.Errorf("%s lies outside of assay's schema; leave the qualifier out, or give --allow-foreign", name)
		}
	}
	return nil
}

func dotAt(all []token, i int) bool {
	return i >= 0 && i < len(all) && all[i].kind == sign && all[i].text == "."
}

func next(all []token, i int) token {
	if i+1 < len(all) {
		return all[i+1]
	}
	return token{}
}

// at is a token by its number; the zero token if there is none.
func at(all []token, i int) token {
	if i < 0 || i >= len(all) {
		return token{}
	}
	return all[i]
}

// tableAt reports whether a table, index or the like stands at a token, by the word
// before it.
func tableAt(all []token, i int) bool {
	before := at(all, i-1)
	switch {
	case before.is("join", "into", "table", "exists", "only", "references", "truncate", "analyze", "index", "view", "sequence", "type"):
		return true
	case before.is("update"):
		return !at(all, i-2).is("key") // ON DUPLICATE KEY UPDATE
	case before.is("on"):
		return all[0].is("create") && !at(all, 1).is("view", "table", "materialized", "or")
	case before.is("from"):
		return !at(all, i-2).is("distinct") && !inFunction(all, i-1)
	}
	return false
}

// inFunction reports whether a FROM is that of extract(... FROM ...) and its like.
func inFunction(all []token, i int) bool {
	depth := 0
	for i--; i > 0; i-- {
		if all[i].kind != sign {
			continue
		}
		switch all[i].text {
		case ")":
			depth++
		case "(":
			if depth == 0 {
				return all[i-1].is("extract", "trim", "substring", "overlay", "position")
			}
			depth--
		}
	}
	return false
}
