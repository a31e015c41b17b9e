package script

import (
	"fmt"
	"strings"

	"assay/workload/script/access"
)

// within refuses names outside the schema: a qualified name in a table's place, and qualifiers
// that the statement does not define. It always refuses the marker and the lease.
//
// It guards against mistakes, not malice: a server function can run a text as SQL.
func (s *statements) within(all []access.Word) error {
	for _, t := range all {
		if err := reserved(t.Text); err != nil && t.Named() {
			return err
		}
	}
	if s.anySchema {
		return nil
	}
	plain := map[string]bool{"excluded": true, "new": true, "old": true, "inserted": true}
	for i, t := range all {
		if t.Named() && !dotAt(all, i-1) && !dotAt(all, i+1) {
			plain[strings.ToLower(t.Text)] = true
		}
	}
	for i := range all {
		if !dotAt(all, i) || i == 0 || dotAt(all, i-2) {
			continue
		}
		before := all[i-1]
		if before.Sign(")") { // a field of a value
			continue
		}
		name := before.Text + "." + next(all, i).Text
		switch {
		case !before.Named(), dotAt(all, i+2), tableAt(all, i-1), !plain[strings.ToLower(before.Text)]:
			return fmt.Errorf("%s lies outside of assay's schema; leave the qualifier out, or give --allow-foreign", name)
		}
	}
	return nil
}

func dotAt(all []access.Word, i int) bool {
	return i >= 0 && i < len(all) && all[i].Sign(".")
}

func next(all []access.Word, i int) access.Word {
	if i+1 < len(all) {
		return all[i+1]
	}
	return access.Word{}
}

// at is the zero token outside the range.
func at(all []access.Word, i int) access.Word {
	if i < 0 || i >= len(all) {
		return access.Word{}
	}
	return all[i]
}

// tableAt reports by the preceding words whether a table or index stands at a token.
func tableAt(all []access.Word, i int) bool {
	before := at(all, i-1)
	switch {
	case before.Is("join", "into", "table", "exists", "only", "references", "truncate", "analyze", "index", "view", "sequence", "type"):
		return true
	case before.Is("update"):
		return !at(all, i-2).Is("key") // ON DUPLICATE KEY UPDATE
	case before.Is("on"):
		return all[0].Is("create") && !at(all, 1).Is("view", "table", "materialized", "or")
	case before.Is("from"):
		return !at(all, i-2).Is("distinct") && !inFunction(all, i-1)
	}
	return false
}

// inFunction reports whether a FROM belongs to extract(... FROM ...) or its like.
func inFunction(all []access.Word, i int) bool {
	depth := 0
	for i--; i > 0; i-- {
		if all[i].Kind != access.Sign {
			continue
		}
		switch all[i].Text {
		case ")":
			depth++
		case "(":
			if depth == 0 {
				return all[i-1].Is("extract", "trim", "substring", "overlay", "position")
			}
			depth--
		}
	}
	return false
}
