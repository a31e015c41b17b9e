package drivertest

import (
	"strings"

	"assay/history"
	"assay/store"
)

// joined is several statements in one text.
func joined(kind store.TextKind, texts ...store.UserText) store.UserText {
	var all []string
	for _, text := range texts {
		all = append(all, text.Text)
	}
	of := plainText(kind, strings.Join(all, "; "))
	of.Joined = true
	return of
}

// testVerbatimJoined: an operation has failed only if no statement of its joined texts is
// committed, whether or not the text is a transaction. The ledger convicts the driver otherwise.
func (f *fixture) testVerbatimJoined() {
	if f.verbatims() == nil {
		return
	}
	for name, c := range map[string]struct {
		texts []store.UserText
		id    int64
	}{
		"alone":                      {[]store.UserText{joined(store.Writes, insertText(501), wrongText())}, 501},
		"before a text":              {[]store.UserText{joined(store.Writes, insertText(502), insertText(503)), wrongText()}, 502},
		"in a transaction":           {[]store.UserText{beginText(), joined(store.Writes, insertText(504), wrongText())}, 504},
		"with a transaction":         {[]store.UserText{joined(store.Anything, beginText(), insertText(505), commitText(), wrongText())}, 505},
		"with a COMMIT":              {[]store.UserText{beginText(), joined(store.Anything, insertText(506), commitText(), wrongText())}, 506},
		"with COMMIT and BEGIN":      {[]store.UserText{beginText(), joined(store.Anything, insertText(507), commitText(), beginText()), wrongText()}, 507},
		"from COMMIT to BEGIN":       {[]store.UserText{beginText(), insertText(508), joined(store.Anything, commitText(), beginText()), wrongText()}, 508},
		"with BEGIN, and then wrong": {[]store.UserText{joined(store.Anything, beginText(), insertText(509)), wrongText()}, 509},
	} {
		session := f.session(f.store)
		_, r := do(session, f.ctx, c.texts...)
		session.Close()
		if r.Outcome != history.Failed && r.Outcome != history.Unknown || r.Err == nil {
			f.t.Errorf("%s: %+v", name, r)
		}
		if name == "in a transaction" && r.Outcome != history.Failed {
			f.t.Errorf("%s: %+v; nothing of it was committed", name, r)
		}
		f.wrote(r.Outcome, c.id)
		if c.id == 502 {
			f.wrote(history.Unknown, 503)
		}
	}
}
