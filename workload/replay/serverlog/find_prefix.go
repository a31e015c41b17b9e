package serverlog

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// prefixes are those that are tried, as products and manuals have them: PostgreSQL's own, those
// of Debian, of pgBadger's and pgreplay's documentation, and of hosted databases.
func prefixes() []string {
	return []string{
		"%m [%p] ", "%m [%p] %q%u@%d ", "%t [%p] ", "%t [%p] %q%u@%d ", "%m [%p] %q%u@%d/%a ",
		"%t [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ", "%t [%p]: user=%u,db=%d,app=%a,client=%h ", "%m [%p]: user=%u,db=%d,app=%a,client=%h ",
		"%m [%p]: [%l-1] user=%u,db=%d,app=%a,client=%h ", "%t [%p]: [%l-1] db=%d,user=%u,app=%a,client=%h ", "%m [%p]: [%l-1] db=%d,user=%u,app=%a,client=%h ",
		"%t [%p]: [%l-1] user=%u,db=%d ", "%t [%p]: [%l-1] ", "%m [%p]: [%l-1] ", "%t [%p]: [%l-1] db=%d,user=%u ", "%m [%p]: [%l-1] db=%d,user=%u ",
		"%m [%p] %q[user=%u,db=%d,app=%a] ", "%t [%p] %q[user=%u,db=%d,app=%a] ", "%m [%p][%b][%v][%x] %q[user=%u,db=%d,app=%a] ", "%m [%p]: [%l] %q%u@%d ",
		"%t:%r:%u@%d:[%p]:", "%m:%r:%u@%d:[%p]:", "%m:%r:%u@%d:[%p]:%l:%e:%s:%v:%x:%c:%q%a:", "%t-%c-", "%m-%c-", "%p-%s-%c-%l-%h-%u-%d-%m ",
		"%m|%u|%d|%c|", "%m |%u|%d|%c|", "%t|%u|%d|%c|", "%m [%p]: [%l-1] db=%d,user=%u,app=%a,client=%h,sqlstate=%e ",
		"%m [%p] %u@%d ", "%t [%p] %u@%d ", "%m %u@%d [%p] ", "%t %u@%d [%p] ", "[%m] [%p] ", "[%t] [%p] ", "%m [%p] [%c] ", "%m [%c] ", "%t [%c] ",
		"%m [%p] %q%u@%d %a ", "%m [%p] %u %d ", "%m [%p] %d %u ", "%n [%p] ", "%m %p ", "%t %p ", "%m [%p:%l] ", "%t [%p-%l] ", "%t [%p-%l] %q%u@%d ", "%m [%p-%l] %q%u@%d ",
		"%m %p %u@%d from %h [vxid:%v txid:%x] [%i] ", "%m [%p] %r %u@%d ", "%m [%p] user=%u,db=%d ", "%m [%p] user=%u,db=%d,app=%a,client=%h ",
		"%m [%p] %a %u@%d ", "%m %h %u %d [%p] ", "%m %c ", "%t %c ",
		// One word can be anything; that which tells nothing comes first.
		"%m [%p] %a ", "%m [%p] %d ", "%m [%p] %u ", "%t [%p] %a ", "%t [%p] %d ", "%t [%p] %u ",
		"%m [%p] %q%a ", "%m [%p] %q%d ", "%m [%p] %q%u ", "%t [%p] %q%a ", "%t [%p] %q%d ", "%t [%p] %q%u ", "%m [%p] %b ", "%t [%p] %b ",
	}
}

// claim is how well a prefix explains the lines of a sample.
type claim struct {
	*prefix
	// lines are those that it fits, and literal how many bytes of them are the prefix's own.
	lines, literal int
	// agreed counts what it takes for a user, a database or a kind of process and what the
	// message behind it, or PostgreSQL's names of these kinds, say too, less what they deny.
	agreed int
}

func claimOf(p *prefix, sample []string) *claim {
	c := &claim{prefix: p}
	for _, line := range sample {
		f, _, text, ok := p.match(line)
		if !ok {
			continue
		}
		c.lines++
		c.literal += f.literal
		if isBackend(f.backend) {
			c.agreed++
		}
		if user, database, is := authorized(text); is {
			c.agreed += agrees(f.user, user) + agrees(f.database, database)
		}
	}
	return c
}

func agrees(taken, said string) int {
	switch taken {
	case "":
		return 0
	case said:
		return 1
	}
	return -1
}

// authorized reads whose connection it is from the message about it.
func authorized(text string) (user, database string, is bool) {
	_, rest, is := strings.Cut(text, "connection authorized: ")
	if !is {
		return "", "", false
	}
	for part := range strings.SplitSeq(rest, " ") {
		if name, is := strings.CutPrefix(part, "user="); is {
			user = name
		} else if name, is := strings.CutPrefix(part, "database="); is {
			database = name
		}
	}
	return user, database, true
}

// isBackend reports whether %b writes this (PostgreSQL's manual, "The pg_stat_activity View").
func isBackend(name string) bool {
	switch name {
	case "client backend", "postmaster", "checkpointer", "background writer", "walwriter", "walsender", "walreceiver", "startup", "archiver",
		"autovacuum launcher", "autovacuum worker", "parallel worker", "logical replication launcher", "logical replication worker":
		return true
	}
	return false
}

// compare says which of two claims is the better one.
func (c *claim) compare(other *claim) int {
	return cmp.Or(cmp.Compare(c.lines, other.lines), cmp.Compare(c.agreed, other.agreed), cmp.Compare(c.literal, other.literal))
}

// differs reports whether two prefixes give a line another user or database.
func (c *claim) differs(other *claim, sample []string) bool {
	return slices.ContainsFunc(sample, func(line string) bool {
		a, _, _, _ := c.match(line)
		b, _, _, _ := other.match(line)
		return a.user != b.user || a.database != b.database
	})
}

// findPrefix finds the prefix that explains most of how a text begins.
func findPrefix(head []byte) (*prefix, error) {
	const most = 500
	var sample []string
	begin := 0
	for line := range bytes.Lines(head) {
		if len(sample) == most {
			break
		}
		if line[0] == '\t' {
			continue // within a message
		}
		sample = append(sample, string(chomp(line)))
		if bytes.Contains(line, []byte(":  ")) {
			begin++
		}
	}
	var all []*claim
	for _, format := range prefixes() {
		p, err := compile(format)
		if err != nil {
			return nil, err
		}
		all = append(all, claimOf(p, sample))
	}
	best := slices.MaxFunc(all, (*claim).compare) // of equals the first
	if best.lines == 0 || best.lines*2 < begin {
		return nil, &FormatError{Reason: "it is not known how its lines begin; give the server's log_line_prefix (SHOW log_line_prefix) with --prefix, and --format if it is no log of PostgreSQL in the form stderr. Messages must be in English (lc_messages = 'C')"}
	}
	known := []*claim{best}
	for _, c := range all {
		if c.compare(best) == 0 && !slices.ContainsFunc(known, func(other *claim) bool { return !c.differs(other, sample) }) {
			known = append(known, c)
			best.rivals = append(best.rivals, c.format)
		}
	}
	return best.prefix, nil
}
