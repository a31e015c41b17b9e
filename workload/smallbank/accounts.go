package smallbank

import (
	"cmp"
	"fmt"
	"slices"

	"assay/check"
	"assay/workload"
	"assay/workload/journal"
)

type accounts struct {
	operations *Operations
	// customers counts rows of table account; states and rows are by account number.
	customers []uint8
	states    []State
	rows      []uint8
	// previous says, by account, whose value its last writer has overwritten.
	previous []int64
	reads    []read
	// created is the money that Amalgamate has made, negative if lost: it moves the balance that
	// it read, which another transaction may have changed since.
	created int64
	found   check.Result
}

type read struct {
	id, account int64
	state       State
}

func newAccounts(s *Operations) *accounts {
	n := s.config.Customers + 1
	return &accounts{operations: s, customers: make([]uint8, n), states: make([]State, 2*n), rows: make([]uint8, 2*n), previous: make([]int64, 2*n)}
}

func (a *accounts) row(r journal.Row) {
	customer := r.Values[0]
	if customer < 1 || customer > a.operations.config.Customers {
		a.find("foreign", customer, fmt.Sprintf("table %s has a row of customer %d, who was never loaded", Tables()[r.Table].Name, customer))
		return
	}
	if r.Table == Account {
		a.customers[customer] = min(a.customers[customer]+1, 2)
		if len(r.Values) > 1 && r.Values[1] != workload.Sum(CustomerName(customer)) {
			a.find("altered", customer, fmt.Sprintf("table account has customer %d by another name than was loaded", customer))
		}
		return
	}
	n := account(r.Table, customer)
	a.rows[n] = min(a.rows[n]+1, 2)
	a.states[n], a.previous[n] = State{Balance: r.Values[1], Writer: r.Values[2]}, r.Values[3]
}

func (a *accounts) find(kind string, customer int64, text string) {
	a.found.Add(check.Evidence{Kind: kind, Text: text, Fields: map[string]int64{"customer": customer}})
}

// link is one write of an account: id has overwritten the value of previous.
type link struct{ account, previous, id int64 }

type written struct{ account, writer int64 }

// judgeAccounts follows the writes in the journal through each account.
func (j *judge) judgeAccounts() check.Result {
	a := j.accounts
	r := &a.found
	r.Name = CheckAccounts
	if j.missing != "" {
		r.Detail = check.Counted(2*j.operations.config.Customers, "account", "accounts")
		r.Finish(j.missing, false, "")
		return *r
	}
	links := j.links()
	left := make(map[written]int64, len(links))
	rest := links
	for customer := int64(1); customer <= j.operations.config.Customers; customer++ {
		if n := a.customers[customer]; n != 1 {
			a.find("missing", customer, fmt.Sprintf("table account has %s of customer %d", check.Counted(int(n), "row", "rows"), customer))
		}
		for table := Saving; table <= Checking; table++ {
			number := account(table, customer)
			n, _ := slices.BinarySearchFunc(rest, number+1, func(l link, number int64) int { return cmp.Compare(l.account, number) })
			j.follow(table, customer, rest[:n], left)
			rest = rest[n:]
		}
	}
	j.judgeReads(left)
	return r.Conclude(fmt.Sprintf("%s, %s, %s", check.Counted(2*j.operations.config.Customers, "account", "accounts"),
		check.Counted(len(links), "write", "writes"), check.Counted(len(a.reads), "read", "reads")),
		": each write overwrote the one before it, and each balance is the one that its writer left",
		"", len(links) == 0 && len(a.reads) == 0, "nothing was acknowledged")
}

// links are the writes in the journal, sorted by account and overwritten value.
func (j *judge) links() (links []link) {
	for id, e := range j.entries {
		o := j.operations.At(id)
		for _, n := range o.written() {
			links = append(links, link{o.accounts()[n], e.Previous[n], id})
		}
	}
	slices.SortFunc(links, func(x, y link) int {
		return cmp.Or(cmp.Compare(x.account, y.account), cmp.Compare(x.previous, y.previous), cmp.Compare(x.id, y.id))
	})
	return links
}

// follow follows an account's writes from its opening balance, and fills left.
func (j *judge) follow(table int, customer int64, links []link, left map[written]int64) {
	a, number := j.accounts, account(table, customer)
	if n := a.rows[number]; n != 1 {
		a.find("missing", customer, fmt.Sprintf("table %s has %s of customer %d", Tables()[table].Name, check.Counted(int(n), "row", "rows"), customer))
		return
	}
	state := State{j.operations.Opening(table, customer), Nobody}
	left[written{number, Nobody}] = state.Balance
	steps, forked, previous := 0, false, Nobody
	for steps < len(links) {
		n, ok := slices.BinarySearchFunc(links, state.Writer, func(l link, writer int64) int { return cmp.Compare(l.previous, writer) })
		if !ok {
			break
		}
		if n+1 < len(links) && links[n+1].previous == state.Writer && !forked {
			forked = true
			a.find("overwritten", customer, fmt.Sprintf("%s: %s and %s have both overwritten what %s left: the update of one is lost",
				accountName(number), j.journal.Name(links[n].id), j.journal.Name(links[n+1].id), j.writer(state.Writer)))
		}
		previous = state.Writer
		state = State{j.after(links[n].id, number, state.Balance), links[n].id}
		left[written{number, state.Writer}] = state.Balance
		steps++
	}
	if steps < len(links) && !forked {
		l := unreached(links, left)
		a.find("gap", customer, fmt.Sprintf("%s: %s has overwritten what %s left, to which no journal row leads",
			accountName(number), j.journal.Name(l.id), j.writer(l.previous)))
	} else if got := a.states[number]; got != state && !forked {
		a.find("balance", customer, fmt.Sprintf("%s holds %d as %s left it; its %s in the journal lead to %d, left by %s",
			accountName(number), got.Balance, j.writer(got.Writer), check.Counted(len(links), "row", "rows"), state.Balance, j.writer(state.Writer)))
	} else if a.previous[number] != previous && !forked {
		a.find("previous", customer, fmt.Sprintf("%s says that %s overwrote what %s left; by the journal it overwrote what %s left",
			accountName(number), j.writer(state.Writer), j.writer(a.previous[number]), j.writer(previous)))
	}
}

// unreached returns the first write that does not follow from another one of links.
func unreached(links []link, left map[written]int64) link {
	writers := map[int64]bool{}
	for _, l := range links {
		writers[l.id] = true
	}
	found := links[0]
	for _, l := range links {
		if _, reached := left[written{l.account, l.id}]; reached {
			continue
		}
		if found = l; !writers[l.previous] {
			break
		}
	}
	return found
}

func (j *judge) writer(id int64) string {
	if id == Nobody {
		return "the loading"
	}
	return j.journal.Name(id)
}

// after is the balance that an operation leaves. An acknowledged result must agree.
func (j *judge) after(id, number, balance int64) int64 {
	o, e := j.operations.At(id), j.entries[id]
	r, acknowledged := j.acknowledged[id]
	accounts := o.accounts()
	place := slices.Index(accounts[:], number)
	switch {
	case o.Kind == KindAmalgamate && place < 2:
		j.accounts.created -= balance
		balance = 0
	case o.Kind == KindAmalgamate:
		j.accounts.created += e.Amount
		balance += e.Amount
	case o.Kind == KindWriteCheck:
		balance -= e.Amount
	default:
		balance += e.Amount
	}
	said := r.Left[place]
	if acknowledged && said.Balance != balance {
		j.accounts.find("acknowledged", o.Customer, fmt.Sprintf("%s: %s was acknowledged with the balance %d, and leaves %d",
			accountName(number), j.journal.Name(id), said.Balance, balance))
	}
	return balance
}

// judgeReads compares reads with what their writer left. If the writer left nothing there, the
// check of isolation reports it.
func (j *judge) judgeReads(left map[written]int64) {
	for _, read := range j.accounts.reads {
		balance, known := left[written{read.account, read.state.Writer}]
		if known && balance != read.state.Balance {
			j.accounts.find("read", read.account>>1, fmt.Sprintf("%s: %s read the balance %d, and %s left %d there",
				accountName(read.account), j.journal.Name(read.id), read.state.Balance, j.writer(read.state.Writer), balance))
		}
	}
}
