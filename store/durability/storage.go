package durability

import (
	"slices"
	"strings"
	"time"

	"assay/store"
)

// storage is a product's way of storing tables that its other settings do not cover.
type storage struct {
	way          string
	transactions bool
	// survives is what their content survives. Anything else loses all.
	survives     Class
	what, manual string
}

func storages(product string) []storage {
	switch product {
	case "PostgreSQL":
		return []storage{
			{"unlogged", true, None, "emptied after a crash, and not replicated", `PostgreSQL manual, "CREATE TABLE" (UNLOGGED)`},
			{"temporary", true, None, "gone with the session", `PostgreSQL manual, "CREATE TABLE" (TEMPORARY)`},
		}
	case "MariaDB", "MySQL":
		const maria = "MariaDB documentation, "
		return []storage{
			{"MyISAM", false, None, "no transactions, not crash-safe", maria + `"MyISAM Overview"; MySQL manual, "The MyISAM Storage Engine"`},
			{"MRG_MyISAM", false, None, "no transactions, not crash-safe", maria + `"MERGE"; MySQL manual, "The MERGE Storage Engine"`},
			{"Aria", false, ProcessCrash, "no transactions", maria + `"Aria Storage Engine"`},
			{"MEMORY", false, None, "no transactions, emptied when the server ends", maria + `"MEMORY"; MySQL manual, "The MEMORY Storage Engine"`},
			{"BLACKHOLE", false, None, "keeps nothing", maria + `"BLACKHOLE"; MySQL manual, "The BLACKHOLE Storage Engine"`},
			{"CSV", false, None, "no transactions, not crash-safe", maria + `"CSV Overview"; MySQL manual, "The CSV Storage Engine"`},
			{"ARCHIVE", false, None, "no transactions", maria + `"ARCHIVE"; MySQL manual, "The ARCHIVE Storage Engine"`},
		}
	case "SQLite":
		return []storage{{"temporary", true, None, "gone with the connection", `SQLite documentation, "CREATE TABLE" (TEMP)`}}
	}
	return nil
}

// storedAs returns the promise for such tables. Nothing is known of an unlisted way.
func storedAs(product, way, tables string) Guarantee {
	all := storages(product)
	i := slices.IndexFunc(all, func(s storage) bool { return strings.EqualFold(s.way, way) })
	if i < 0 {
		return Guarantee{}
	}
	g := alone(all[i].survives, Unbounded, tableIs(tables, way)+": "+all[i].what, all[i].manual)
	g.Failover = Unbounded
	if strings.EqualFold(way, "MEMORY") {
		g.Stopped = Unbounded
	}
	return g
}

func tableIs(tables, way string) string {
	if strings.Contains(tables, ", ") {
		return "tables " + tables + " are " + way
	}
	return "table " + tables + " is " + way
}

// WithoutTransactions describes, with the manual's chapter, the tables whose statements cannot be
// undone and have no promise together; empty if there are none.
func WithoutTransactions(product string, reported []Setting) (what, manual string) {
	for _, r := range reported {
		way, apart := strings.CutPrefix(r.Name, store.SettingStoredAs)
		for _, s := range storages(product) {
			if apart && strings.EqualFold(s.way, way) && !s.transactions {
				return tableIs(r.Value, way) + ": " + s.what, s.manual
			}
		}
	}
	return "", ""
}

// Apart lists the tables stored in a way that the other settings do not cover.
func Apart(reported []Setting) (tables []string) {
	for _, r := range reported {
		if strings.HasPrefix(r.Name, store.SettingStoredAs) {
			tables = append(tables, strings.Split(r.Value, ", ")...)
		}
	}
	return tables
}

func ranks() []Class {
	return []Class{None, ProcessCrash, SystemCrashWithin, SystemCrash, SomeNodes, Majority}
}

// weaker combines two guarantees for tables of both: the larger window of each loss.
func weaker(a, b Guarantee) Guarantee {
	if !a.Known() || !b.Known() {
		return Guarantee{}
	}
	if slices.Index(ranks(), b.Class) < slices.Index(ranks(), a.Class) {
		a, b = b, a
	}
	a.OneNode, a.AllNodes = longer(a.OneNode, b.OneNode), longer(a.AllNodes, b.AllNodes)
	a.Killed, a.AllKilled = longer(a.Killed, b.Killed), longer(a.AllKilled, b.AllKilled)
	a.Stopped, a.Failover = longer(a.Stopped, b.Stopped), longer(a.Failover, b.Failover)
	return a
}

// both combines the guarantees of two settings of one server, and names each that weakens it.
func both(crash, commit Guarantee) Guarantee {
	g := weaker(crash, commit)
	g.Source, g.Manual = crash.Source, crash.Manual
	if commit.OneNode == 0 && commit.AllNodes == 0 && commit.Killed == 0 && commit.Failover == 0 {
		return g
	}
	for _, part := range strings.Split(commit.Source, ", ") {
		if !slices.Contains(strings.Split(g.Source, ", "), part) {
			g.Source += ", " + part
		}
	}
	if strings.HasPrefix(commit.Manual, g.Manual) {
		g.Manual = commit.Manual
	} else {
		g.Manual += "; " + commit.Manual
	}
	return g
}

func longer(a, b time.Duration) time.Duration {
	if a < 0 || b < 0 {
		return Unbounded
	}
	return max(a, b)
}
