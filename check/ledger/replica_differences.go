package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"assay/check"
	"assay/history"
)

// compareRoom is how many accounts and rows of both states are kept to be
// compared one by one.
const compareRoom = 1 << 18

// comparison compares one replica after the other with the primary.
type comparison struct {
	primary State
	sums    *sums
	outcome func(id int64) (history.Outcome, bool)
	replica *Replica
	room    int64 // accounts and rows of both states that are kept
	found   findings
	// unnamed is true if groups were compared by their counts only.
	unnamed bool
}

func (c *comparison) compare() error {
	sums, err := sumUp(c.replica.State)
	if err != nil {
		return fmt.Errorf("ledger: read replica %s: %w", c.replica.Name, err)
	}
	named := map[int]bool{}
	room := c.room
	var less, more, unlike int64 // on the replica, in groups without room
	for i := range sums.group {
		here, there := c.sums.group[i], sums.group[i]
		if here == there {
			continue
		}
		size := int64(here.count + there.count)
		switch off := int64(there.count - here.count); {
		case size <= room:
			room -= size
			named[i] = true
		case off < 0:
			less -= off
		case off > 0:
			more += off
		default:
			unlike++
		}
	}
	if len(named) > 0 {
		if err := c.compareItems(named); err != nil {
			return err
		}
	}
	c.unnamed = c.unnamed || less+more+unlike > 0
	c.count(kindMissingOnReplica, less, "missing on it")
	c.count(kindMissingOnPrimary, more, "missing on the primary")
	c.count(kindDifferentRow, unlike, "different")
	return nil
}

// count adds what is not listed one by one.
func (c *comparison) count(kind string, n int64, what string) {
	c.found.addMany(kind, n, func() check.Evidence {
		return check.Evidence{
			Text:   fmt.Sprintf("of replica %s at least %s more accounts and journal rows are %s", c.replica.Name, check.Count(n), what),
			Fields: map[string]int64{"at_least": n},
		}
	})
}

// name compares the items of some groups one by one.
func (c *comparison) compareItems(groups map[int]bool) error {
	here, there := map[key][]item{}, map[key][]item{}
	err := visit(c.primary, groups, func(x item) { here[x.key] = append(here[x.key], x) })
	if err != nil {
		return fmt.Errorf("ledger: read the primary again: %w", err)
	}
	err = visit(c.replica.State, groups, func(x item) {
		if i := slices.Index(here[x.key], x); i >= 0 {
			here[x.key] = slices.Delete(here[x.key], i, i+1)
		} else {
			there[x.key] = append(there[x.key], x)
		}
	})
	if err != nil {
		return fmt.Errorf("ledger: read replica %s again: %w", c.replica.Name, err)
	}
	keys := slices.Collect(maps.Keys(there))
	for k, items := range here {
		if len(items) > 0 && there[k] == nil {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return fmt.Errorf("ledger: replica %s and the primary were not the same when they were read again", c.replica.Name)
	}
	slices.SortFunc(keys, func(a, b key) int {
		switch {
		case a.row == b.row:
			return cmp.Compare(a.id, b.id)
		case a.row:
			return 1
		default:
			return -1
		}
	})
	for _, k := range keys {
		c.addDifference(here[k], there[k])
	}
	return nil
}

// visit gives the items of some groups.
func visit(s State, groups map[int]bool, keep func(item)) error {
	visit := func(x item) {
		if groups[x.group()] {
			keep(x)
		}
	}
	return s(func(id, balance, version int64) { visit(accountItem(id, balance, version)) },
		func(r Row) { visit(rowItem(r)) })
}

// addDifference reports what differs of one id: the items that only the primary has, and
// those that only the replica has.
func (c *comparison) addDifference(here, there []item) {
	both := min(len(here), len(there))
	for i := range both {
		c.add(kindOf(here[i], kindDifferentRow, kindDifferentAccount), here[i], fmt.Sprintf("%s on the primary and %s on replica %s",
			c.describe(here[i]), describeContent(there[i]), c.replica.Name))
	}
	for _, x := range here[both:] {
		c.add(kindMissingOnReplica, x, fmt.Sprintf("%s on the primary and missing on replica %s", c.describe(x), c.replica.Name))
	}
	for _, x := range there[both:] {
		c.add(kindMissingOnPrimary, x, fmt.Sprintf("%s on replica %s and missing on the primary", c.describe(x), c.replica.Name))
	}
}

func kindOf(x item, row, account string) string {
	if x.row {
		return row
	}
	return account
}

func (c *comparison) add(kind string, x item, text string) {
	c.found.add(kind, func() check.Evidence {
		v := x.content
		if !x.row {
			return check.Evidence{Text: text, Fields: map[string]int64{"account": x.id, "balance": v[0], "version": v[1]}}
		}
		return check.Evidence{Text: text, Fields: rowFields(Row{x.id, v[0], v[1], v[2], v[3], v[4]})}
	})
}

// describe names an item and its content.
func (c *comparison) describe(x item) string {
	name := fmt.Sprintf("account %d is", x.id)
	if x.row {
		name = fmt.Sprintf("transfer %d is", x.id)
		if outcome, ok := c.known(x.id); ok {
			name = fmt.Sprintf("transfer %d, which ended as %v, is", x.id, outcome)
		}
	}
	return name + " " + describeContent(x)
}

func (c *comparison) known(id int64) (history.Outcome, bool) {
	if c.outcome == nil {
		return 0, false
	}
	return c.outcome(id)
}

func describeContent(x item) string {
	v := x.content
	if !x.row {
		return fmt.Sprintf("%d at version %d", v[0], v[1])
	}
	return fmt.Sprintf("%d from account %d (version %d) to %d (version %d)", v[2], v[0], v[3], v[1], v[4])
}
