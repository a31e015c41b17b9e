package tpcb

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"assay/check"
	"assay/history"
	"assay/workload"
	"assay/workload/definition"
	"assay/workload/journal"
)

// The checks beside journal.CheckOperations.
const (
	CheckTotal    = "total"
	CheckBalances = "balances"
	CheckOrder    = "order"
)

// Judge implements definition.Config. A missing or cut state gives unknown verdicts, malformed
// files a *history.FormatError. It keeps 17 bytes per account and some 130 per transaction.
func (c *Config) Judge(_ context.Context, seed uint64, e definition.Evidence) (out definition.Judgement, err error) {
	transactions := &Transactions{*c, seed}
	j := &judge{transactions: transactions, evidence: e, moments: map[int64]int64{}, unanswered: map[int64]int64{},
		total: check.Result{Name: CheckTotal}, balances: check.Result{Name: CheckBalances}}
	for table := range j.tables {
		n := transactions.rows(table) + 1
		j.fillers[table] = workload.Sum(filler(table))
		j.tables[table] = holdings{balance: make([]int64, n), due: make([]int64, n), rows: make([]uint8, n)}
	}
	j.journal.Describe = func(id int64) string {
		x := transactions.At(id)
		return fmt.Sprintf("%+d to account %d, teller %d, branch %d", x.Delta, x.Account, x.Teller, x.Branch)
	}
	if j.missing, err = j.journal.Read(e, state(), j.record, j.row); err != nil {
		return out, err
	}
	out = definition.Judgement{Counts: j.journal.Counts,
		Results: []check.Result{j.journal.Result(j.missing), j.judgeTotal(), j.judgeBalances(), j.judgeOrder()}}
	out.Notes = e.UnknownNotes("unknown transaction", "unknown transactions", j.journal.Unknown, j.journal.Applied)
	return out, nil
}

type judge struct {
	transactions *Transactions
	evidence     definition.Evidence
	journal      journal.Operations
	tables       [History]holdings
	// sum adds balances or amounts by table; read counts rows.
	sum, read [History + 1]int64
	answers   []answer // acknowledged balances
	// unanswered are the accounts of transactions that may have been done without an answer, by id.
	unanswered map[int64]int64
	// moments are of acknowledged transactions; fillers are hashes of the tables' fillers.
	moments map[int64]int64
	fillers [History]int64
	// missing says why rows may be missing; empty if none are.
	missing         string
	total, balances check.Result
}

// holdings are a table's rows by key.
type holdings struct {
	balance, due []int64
	rows         []uint8
}

// answer is the balance that a transaction left.
type answer struct{ account, id, balance int64 }

func (j *judge) record(op *history.Op) error {
	committed := op.Outcome == history.Committed
	if op.Kind != kindTransaction || committed && len(op.Values) != 1 && len(op.Values) != 2 {
		return j.evidence.Malformed(op)
	}
	id := workload.OperationID(op.Client, op.Seq)
	switch {
	case committed:
		if len(op.Values) == 2 {
			j.moments[id] = op.Values[1]
		}
		j.answers = append(j.answers, answer{j.transactions.At(id).Account, id, op.Values[0]})
	case op.Last && (op.Final == history.Unknown || op.Final == history.Committed):
		j.unanswered[id] = j.transactions.At(id).Account
	}
	return nil
}

func (j *judge) row(r journal.Row) error {
	columns := len(Tables()[r.Table].Columns)
	own, also := r.Values[:columns], r.Values[columns:]
	j.read[r.Table]++
	j.sum[r.Table] += own[columns-1]
	if r.Table == History {
		j.historyRow(Transaction{own[0], own[1], own[2], own[3], own[4]}, also)
		return nil
	}
	key, table := r.Values[0], &j.tables[r.Table]
	if key < 1 || key >= int64(len(table.rows)) {
		j.total.Add(check.Evidence{Kind: "foreign", Text: fmt.Sprintf("table %s has a row with the key %d, which was never loaded", Tables()[r.Table].Name, key),
			Fields: map[string]int64{"table": int64(r.Table), "key": key}})
		return nil
	}
	table.rows[key] = min(table.rows[key]+1, 2)
	table.balance[key] = own[columns-1]
	if len(also) > 0 && also[0] != j.fillers[r.Table] {
		j.total.Add(check.Evidence{Kind: "altered", Text: fmt.Sprintf("table %s: row %d has another filler than the spaces that were loaded", Tables()[r.Table].Name, key),
			Fields: map[string]int64{"table": int64(r.Table), "key": key}})
	}
	if r.Table != Branches && r.Values[1] != j.transactions.opening(r.Table, key)[1] {
		j.total.Add(check.Evidence{Kind: "altered", Text: fmt.Sprintf("table %s: row %d has branch %d, and was loaded with %d",
			Tables()[r.Table].Name, key, r.Values[1], j.transactions.opening(r.Table, key)[1]), Fields: map[string]int64{"table": int64(r.Table), "key": key}})
	}
	return nil
}

// historyRow takes a row of the history as it is, since balances must agree with it. also has
// its moment, if known.
func (j *judge) historyRow(x Transaction, also []int64) {
	wrong, asked := "", j.transactions.At(x.ID)
	if x != asked {
		wrong = fmt.Sprintf("has a row with %+d to account %d, teller %d, branch %d", x.Delta, x.Account, x.Teller, x.Branch)
	}
	if sent, known := j.moments[x.ID]; wrong == "" && known && len(also) > 0 && also[0] != sent {
		wrong = fmt.Sprintf("has a row of the moment %d, and %d was sent", also[0], sent)
	}
	if outcome, _ := j.journal.Outcome(x.ID); outcome == history.Unknown { // perhaps without a record
		j.unanswered[x.ID] = asked.Account
	}
	j.journal.Row(x.ID, wrong)
	for table, key := range [...]int64{Branches: x.Branch, Tellers: x.Teller, Accounts: x.Account} {
		if due := j.tables[table].due; key >= 1 && key < int64(len(due)) {
			due[key] += x.Delta
		}
	}
}

// judgeTotal compares the four sums, and the existing with the loaded rows. The sums are TPC-B's consistency
// conditions (TPC-B, revision 2.0, clause 2.3), as far as pgbench's choice of tellers leaves them.
func (j *judge) judgeTotal() check.Result {
	r := &j.total
	for table := Branches; table <= Accounts && j.missing == ""; table++ {
		name := Tables()[table].Name
		for key := int64(1); key < int64(len(j.tables[table].rows)); key++ {
			if n := j.tables[table].rows[key]; n != 1 {
				r.Add(check.Evidence{Kind: "missing", Text: fmt.Sprintf("table %s has %s with the key %d", name, check.Counted(int(n), "row", "rows"), key),
					Fields: map[string]int64{"table": int64(table), "key": key}})
			}
		}
		if j.sum[table] != j.sum[History] {
			r.Add(check.Evidence{Kind: "sum", Text: fmt.Sprintf("the balances of %s add up to %d, and the amounts of the history to %d: %+d",
				name, j.sum[table], j.sum[History], j.sum[table]-j.sum[History]),
				Fields: map[string]int64{"table": int64(table), "sum": j.sum[table], "history": j.sum[History]}})
		}
	}
	return r.Conclude(fmt.Sprintf("%s, %s, %s and %s", check.Counted(j.read[Branches], "branch", "branches"), check.Counted(j.read[Tellers], "teller", "tellers"),
		check.Counted(j.read[Accounts], "account", "accounts"), check.Counted(j.read[History], "history row", "history rows")),
		": each adds up to "+check.Count(j.sum[History]), j.missing, j.read[Accounts] == 0, "nothing was read back")
}

// judgeBalances compares each balance with the sum of the history's rows.
func (j *judge) judgeBalances() check.Result {
	r := &j.balances
	one := [...]string{Branches: "branch", Tellers: "teller", Accounts: "account"}
	rows := 0
	for table := range j.tables {
		if j.missing != "" {
			break
		}
		t := &j.tables[table]
		for key := 1; key < len(t.rows); key++ {
			rows++
			if t.rows[key] == 1 && t.balance[key] != t.due[key] {
				r.Add(check.Evidence{Kind: "balance", Text: fmt.Sprintf("%s %d has the balance %d; its history rows add up to %d: %+d",
					one[table], key, t.balance[key], t.due[key], t.balance[key]-t.due[key]),
					Fields: map[string]int64{"table": int64(table), "key": int64(key), "balance": t.balance[key], "due": t.due[key]}})
			}
		}
	}
	return r.Conclude(check.Counted(rows, "balance", "balances"), ": each is what its history rows add up to", j.missing, j.read[History] == 0, "the history is empty")
}

// judgeOrder asks whether each account's transactions have an order. Each found a balance
// b-delta and left the acknowledged balance b: an edge. An order is a trail from 0 through all
// edges. It exists if and only if each balance is left as often as found, except the first and
// the last, and all edges are connected (L. Euler, 1736; C. Hierholzer, Math. Ann. 6, 1873).
// That takes linear time.
//
// Each unanswered transaction can fill one gap between steps, because what it found is not
// known.
func (j *judge) judgeOrder() check.Result {
	r := check.Result{Name: CheckOrder}
	slices.SortFunc(j.answers, func(x, y answer) int { return cmp.Or(cmp.Compare(x.account, y.account), cmp.Compare(x.id, y.id)) })
	unsure := map[int64]int{}
	for _, account := range j.unanswered {
		unsure[account]++
	}
	for from := 0; from < len(j.answers); {
		to := from + 1
		account := j.answers[from].account
		for to < len(j.answers) && j.answers[to].account == account {
			to++
		}
		of := j.answers[from:to]
		if wrong := j.disorder(of, unsure[account]); wrong != "" {
			r.Add(check.Evidence{Kind: "order", Text: fmt.Sprintf("account %d: no order of its %s explains the balances that were acknowledged: %s",
				account, check.Counted(len(of), "transaction", "transactions"), wrong),
				Fields: map[string]int64{"account": account, "transactions": int64(len(of))}})
		}
		from = to
	}
	r.Detail = check.Counted(len(j.answers), "acknowledged balance", "acknowledged balances")
	if r.Found == 0 {
		r.Detail += ": the transactions of each account have an order in which each finds what the one before it left"
	} else {
		r.Detail += "; " + check.Counted(r.Found, "account has", "accounts have") + " no such order"
	}
	r.Finish("", len(j.answers) == 0, "nothing was acknowledged")
	return r
}

// disorder says why one account's transactions have no trail with so many gaps; empty if they
// have.
func (j *judge) disorder(of []answer, gaps int) string {
	// surplus counts how much more often a balance was left than found; loading left 0 once.
	// root gives the group of balances that transactions connect.
	surplus := map[int64]int{0: 1}
	parent := map[int64]int64{}
	var root func(b int64) int64
	root = func(b int64) int64 {
		above, joined := parent[b]
		if !joined || above == b {
			return b
		}
		top := root(above)
		parent[b] = top
		return top
	}
	for _, a := range of {
		found := a.balance - j.transactions.At(a.id).Delta
		surplus[found]--
		surplus[a.balance]++
		parent[root(found)] = root(a.balance)
	}
	// Surpluses add up to 1, so without a negative one a single balance is the last. A gap makes
	// up for one, and joins groups.
	missing, apart := 0, map[int64]bool{root(0): true}
	for _, a := range of {
		found := a.balance - j.transactions.At(a.id).Delta
		if surplus[found] < 0 {
			missing -= surplus[found]
			surplus[found] = 0
		}
		apart[root(found)] = true
		if missing > gaps || len(apart)-1 > gaps {
			return fmt.Sprintf("%s found the balance %d, to which the others do not lead", j.journal.Name(a.id), found)
		}
	}
	return ""
}
