package application

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"assay/application/wire"
)

// loss is a row that was acknowledged and is not there: of which transaction, and in which table.
type loss struct {
	of    *wire.Transaction
	table string
	// asked are the settings that its session had in place of the server's. One without a value is not
	// known.
	asked map[string]string
}

// losses are the rows of lost transactions.
func (r *run) losses() (all []loss) {
	setting := slices.DeleteFunc(slices.Clone(r.all), func(t *wire.Transaction) bool { return !slices.ContainsFunc(t.Statements, concerns) })
	for t, tables := range r.missing() {
		asked := askedFor(setting, t)
		for _, table := range tables {
			all = append(all, loss{t, table, asked})
		}
	}
	slices.SortFunc(all, func(a, b loss) int { return strings.Compare(a.table, b.table) })
	return all
}

// The settings that a session can change and that decide what it may lose (PostgreSQL 18 manual,
// "Asynchronous Commit"; MySQL 8.4 manual, "sql_log_bin").
const (
	settingCommit = "synchronous_commit"
	settingLog    = "sql_log_bin"
)

func decisive() []string { return []string{settingCommit, settingLog} }

var setForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^SET\s+(?:(SESSION|LOCAL|GLOBAL|PERSIST)\s+)?(?:@@)?(?:(SESSION|LOCAL|GLOBAL|PERSIST)\.)?([a-z_]+)\s*(?:=|\s+TO\s+)\s*(\S+)$`)
})

// concerns reports whether a statement may set a decisive setting.
func concerns(s *wire.Statement) bool {
	upper := strings.ToUpper(s.Shape)
	return upper == "RESET ALL" || upper == "DISCARD ALL" || strings.Contains(upper, "SET_CONFIG") ||
		slices.ContainsFunc(decisive(), func(name string) bool { return strings.Contains(upper, strings.ToUpper(name)) })
}

// askedFor are the settings of a transaction's session when it was committed, from what was sent over
// its connection by the transactions that concern them.
func askedFor(all []*wire.Transaction, of *wire.Transaction) map[string]string {
	login := map[string]string{}
	for _, name := range decisive() {
		if value, is := of.Settings[name]; is {
			login[name] = plainly(value)
		}
	}
	session := maps.Clone(login)
	for _, t := range all {
		if t.Ended > of.Ended || t.Connection != of.Connection && t != of {
			continue
		}
		within := maps.Clone(session)
		local := maps.Clone(session)
		for _, s := range t.Statements {
			if s.Error == "" {
				sets(s, login, within, local)
			}
		}
		if t == of {
			session = local
			break
		}
		if t.Outcome == wire.Committed {
			session = within
		}
	}
	if n := len(of.Statements); n > 0 {
		maps.Copy(session, of.Statements[n-1].Settings) // which a command has with it, the last of a name
	}
	return session
}

// sets enters what a statement sets, for the session and for its transaction.
func sets(s *wire.Statement, login, session, local map[string]string) {
	enter := func(name, value string, forSession bool) {
		local[name] = value
		if forSession {
			session[name] = value
		}
	}
	forget := func(name string) {
		for _, of := range []map[string]string{session, local} {
			delete(of, name)
			if value, is := login[name]; is {
				of[name] = value
			}
		}
	}
	upper := strings.ToUpper(s.Shape)
	for _, name := range decisive() {
		switch {
		case upper == "RESET ALL" || upper == "DISCARD ALL" || upper == "RESET "+strings.ToUpper(name):
			forget(name)
		case strings.Contains(upper, "SET_CONFIG"):
			if at := slices.IndexFunc(s.Values, func(v string) bool { return strings.EqualFold(strings.Trim(v, "'"), name) }); at >= 0 {
				value := ""
				if at+1 < len(s.Values) {
					value = s.Values[at+1]
				}
				enter(name, plainly(value), !strings.HasSuffix(upper, "TRUE)"))
			}
		case strings.Contains(upper, strings.ToUpper(name)):
			form := setForm().FindStringSubmatch(s.Shape)
			switch {
			case strings.HasPrefix(upper, "SELECT") || strings.HasPrefix(upper, "SHOW"):
			case form == nil || !strings.EqualFold(form[3], name):
				enter(name, "", true) // several at once, or a function's
			case strings.EqualFold(form[4], "DEFAULT"):
				forget(name)
			default:
				value := form[4]
				if value == "?" && len(s.Values) == 1 {
					value = s.Values[0]
				}
				enter(name, plainly(value), !strings.EqualFold(form[1], "LOCAL") || name == settingLog)
			}
		}
	}
}

// plainly is a value as servers report it; empty of what cannot be read.
func plainly(value string) string {
	switch value = strings.ToLower(strings.Trim(value, "'\"")); value {
	case "on", "true", "yes", "1":
		return "on"
	case "off", "false", "no", "0":
		return "off"
	case "local", "remote_write", "remote_apply":
		return value
	}
	return ""
}

// doubt is what a session had asked for that leaves open what it may lose; empty of nothing.
func (l loss) doubt() string {
	for _, name := range decisive() {
		switch value, is := l.asked[name]; {
		case is && value == "":
			return "the session had set " + name + ", and assay cannot read to what"
		case name == settingLog && value == "off":
			return "the session had set sql_log_bin=off, by which standbys do not get what it commits"
		}
	}
	return ""
}
