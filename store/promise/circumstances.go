package promise

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/store"
	"assay/store/durability"
)

// Circumstances decide whether a finding is allowed.
type Circumstances struct {
	// Product and Settings are as the database reports them.
	Product  string
	Settings []durability.Setting
	// Version is the server's. It selects the rules and the manual's version.
	Version string
	Model   string
	Nodes   int
	// Tables are all that the workload uses, if known.
	Tables []string
	// Happened is what was done to the database during the work and took effect.
	Happened Events
	// Timed is true if losses that the settings allow at an event were left out already, by the
	// time of their acknowledgement. Otherwise that time is unknown.
	Timed bool
}

// Events are what can make a database lose or hide acknowledged work.
type Events struct {
	// Killed: a server's process was killed; MostKilled: those of most nodes at the same time.
	// PowerCut: a machine lost its power. Stopped: a process ended in order.
	Killed, MostKilled, PowerCut, Stopped bool
	// Emptied: so many nodes came back without data that perhaps no node had all of it.
	Emptied bool
	// Failover: another node took over. Divided: running nodes could not reach one another, or
	// stood still and went on, so that two may have taken themselves for the primary.
	Failover, Divided bool
	// StoodStill: it took over while the old primary's processes stood still.
	StoodStill bool
}

// Any reports whether anything happened.
func (e Events) Any() bool { return e != Events{} }

// allows is how long before an event an operation may have been acknowledged that is lost.
func (e Events) allows(g durability.Guarantee, several bool) (window time.Duration) {
	if e.Emptied {
		return durability.Unbounded
	}
	for _, loss := range []struct {
		happened bool
		allowed  time.Duration
	}{{e.Killed, g.Killed}, {e.Stopped, g.Stopped}, {e.MostKilled, g.AllKilled}, {e.PowerCut, g.AllNodes}, {e.Failover && several, g.Failover}, {e.StoodStill && several, g.StoodStill}} {
		if loss.happened && window >= 0 && (loss.allowed < 0 || loss.allowed > window) {
			window = loss.allowed
		}
	}
	return window
}

// Ruling says what the vendor promises about a finding.
type Ruling struct {
	// Promised is true if the manual rules the finding out, and nil if that is unknown.
	Promised *bool
	// Source is the settings and their meaning, Manual the page; empty if none weakens the
	// promise.
	Source, Manual string
}

func promised() Ruling { yes := true; return Ruling{Promised: &yes} }

func allowed(source, manual string) Ruling {
	no := false
	return Ruling{Promised: &no, Source: source, Manual: manual}
}

func unknown(source, manual string) Ruling { return Ruling{Source: source, Manual: manual} }

// Of returns the ruling on a finding about this property.
func (c *Circumstances) Of(p Property) Ruling { return c.cited(c.of(p)) }

func (c *Circumstances) cited(r Ruling) Ruling {
	r.Manual = durability.Cite(r.Manual, c.Product, c.Version, c.Settings)
	return r
}

func (c *Circumstances) of(p Property) Ruling {
	for _, s := range c.Settings {
		if s.Name == store.SettingAltering { // whatever is found may be its doing
			return unknown(s.Value+", which can change what is read and written", "")
		}
	}
	if p == Rules {
		return promised()
	}
	var all []Ruling
	for _, of := range []func(Property) (Ruling, bool){c.ofStorage, c.ofLoss, c.ofRules} {
		if r, is := of(p); is {
			all = append(all, r)
		}
	}
	for _, r := range all {
		if r.Promised != nil {
			return r // it is allowed for one reason, whatever the others leave open
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return promised()
}

func (c *Circumstances) ofRules(p Property) (Ruling, bool) {
	facts := c.facts()
	for _, r := range rules() {
		if r.matches(c, facts, p) {
			return r.ruling(facts), true
		}
	}
	return Ruling{}, false
}

func (c *Circumstances) ofStorage(p Property) (Ruling, bool) {
	what, manual := durability.WithoutTransactions(c.Product, c.Settings)
	if what == "" || p.Loss() || p == Agreement && !c.several() {
		return Ruling{}, false
	}
	if !c.all(durability.Apart(c.Settings)) {
		return unknown(what+"; which tables the finding is about is not told", manual), true
	}
	return allowed(what, manual), true
}

// ofLoss excuses what follows from losses that the settings allow at an event of the run.
func (c *Circumstances) ofLoss(p Property) (Ruling, bool) {
	g := durability.Of(c.Product, c.Settings)
	h := c.Happened
	if p == Permanence && g.Known() && h.allows(g, c.several()) != 0 { // what nobody acknowledged is no safer
		return allowed(c.source(g), g.Manual), true
	}
	if c.Timed && !p.Loss() || !slices.Contains(afterLoss(), p) {
		return Ruling{}, false
	}
	if !g.Known() {
		return unknown("nothing is known of the durability of "+c.Product, ""), h.Any()
	}
	window := h.allows(g, c.several())
	switch {
	case window == 0:
		return Ruling{}, false
	case window < 0 && c.all(durability.Apart(c.Settings)):
		return allowed(c.source(g), g.Manual), true
	case c.Timed:
		return Ruling{}, false
	}
	return unknown(c.source(g)+" allows to lose what was acknowledged before an event of this run, and when this was is not told", g.Manual), true
}

// OfLevel rules on a finding that the isolation level, or the promised model, allows.
func (c *Circumstances) OfLevel(p Property) Ruling {
	if r := c.Of(p); r.Promised != nil && !*r.Promised {
		return r
	}
	facts, manual := c.facts(), cmp.Or(Page(c.Product, c.Version), "the product's manual")
	level := cmp.Or(facts["isolation in force"], facts["isolation"])
	if of := []Property{Isolation, Snapshot, CommitOrder, Invariant, Atomicity}; level != "" && slices.Contains(of, p) {
		return allowed("isolation "+level, manual)
	}
	return allowed(cmp.Or(c.Model, "the consistency that "+c.Product+" promises"), manual)
}

// OfLoss returns the ruling on losses that remain after the allowed ones are left out.
func (c *Circumstances) OfLoss() Ruling {
	g := durability.Of(c.Product, c.Settings)
	return c.cited(allowed(c.source(g), g.Manual))
}

// OfCopies returns the ruling on findings of restored backups if some, or all, were copies of the
// database's file without its log: their manual promises nothing. source says what asked for
// them.
func OfCopies(source string, all bool) Ruling { return new(Circumstances).cited(ofCopies(source, all)) }

func ofCopies(source string, all bool) Ruling {
	if !all {
		return unknown(source+" beside other backups: the findings name theirs", "")
	}
	return allowed(source, `SQLite documentation, "Write-Ahead Logging", "The WAL File"; "How To Corrupt An SQLite Database File"`)
}

// afterLoss are the properties whose findings may follow from a loss. A wrong total is not among
// them: transactions are lost as a whole.
func afterLoss() []Property {
	return []Property{Durability, LastWrite, Isolation, Snapshot, CommitOrder, Recency, Invariant}
}

func (c *Circumstances) source(g durability.Guarantee) string {
	if c.Product == "MongoDB" {
		return strings.Replace(g.Source, settingWriteConcern+"=", "w:", 1)
	}
	return g.Source
}

func (c *Circumstances) several() bool { return c.Nodes > 1 }

func (c *Circumstances) all(apart []string) bool {
	if len(c.Tables) == 0 {
		return false
	}
	return !slices.ContainsFunc(c.Tables, func(t string) bool { return !slices.Contains(apart, t) })
}

// facts are the settings and what follows from several of them.
func (c *Circumstances) facts() map[string]string {
	facts := map[string]string{factSerializable: "false", factVersion: c.Version, factPage: Page(c.Product, c.Version)}
	for _, s := range c.Settings {
		facts[s.Name] = strings.ToLower(s.Value)
	}
	nodes := c.Nodes
	if n, err := strconv.Atoi(facts["data nodes"]); err == nil {
		nodes = n
	}
	facts[factMajority] = strconv.FormatBool(facts[settingWriteConcern] == "majority" || number(facts[settingWriteConcern]) > nodes/2)
	if w := facts[settingWriteConcern]; facts[factMajority] == "false" && w != "0" && number(w) == 0 {
		facts[factMajority] = "unknown"
	}
	level := cmp.Or(facts["isolation in force"], facts["isolation"])
	if strings.Contains(level, "serializable") || strings.Contains(c.Model, "serializable") {
		facts[factSerializable] = "true"
	}
	facts[factOverlap] = strconv.FormatBool(overlaps(facts))
	return facts
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// overlaps reports whether Cassandra's reads meet the latest write: R + W > N.
func overlaps(facts map[string]string) bool {
	copies := 0
	for part := range strings.SplitSeq(facts["replication"], ",") {
		_, n, _ := strings.Cut(part, ":")
		copies += number(strings.TrimSpace(n))
	}
	asked := func(level string) int {
		switch level {
		case "all", "each_quorum":
			return copies
		case "quorum", "serial", "local_quorum", "local_serial":
			return copies/2 + 1
		}
		return number(map[string]string{"one": "1", "local_one": "1", "two": "2", "three": "3"}[level])
	}
	return asked(facts["consistency of writes"])+asked(facts["consistency of reads"]) > copies
}

// Merge joins rulings. One broken promise breaks all, and an unknown one is no excuse.
func Merge(rulings []Ruling) Ruling {
	if len(rulings) == 0 {
		return Ruling{}
	}
	sources, manuals := map[string]bool{}, map[string]bool{}
	merged := allowed("", "")
	for _, r := range rulings {
		switch {
		case r.Promised != nil && *r.Promised:
			return promised()
		case r.Promised == nil:
			merged.Promised = nil
		}
		sources[r.Source], manuals[r.Manual] = true, true
	}
	delete(sources, "")
	delete(manuals, "")
	merged.Source = strings.Join(slices.Sorted(maps.Keys(sources)), "; ")
	merged.Manual = strings.Join(slices.Sorted(maps.Keys(manuals)), "; ")
	return merged
}
