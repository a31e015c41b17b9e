package tpcb

import (
	"cmp"
	"fmt"
	"slices"

	"assay/check"
)

// judgeOrder asks whether the transactions of each account can have come one after the
// other: each has found a balance b-delta and left the balance b that was acknowledged.
// Seen as an edge from the one to the other, an order is a trail from 0 through all
// edges. There is one if and only if every balance is left as often as it was found,
// but for the first and the last, and all edges are connected (L. Euler, 1736; C.
// Hierholzer, Math. Ann. 6, 1873), which takes linear time.
//
// What a transaction found that may be done and has no answer is not known. Each of these
// can be what is missing between two steps, so that as many gaps of an account are no
// finding.
func (j *judge) judgeOrder() check.Result {
	r := check.Result{Name: CheckOrder}
	slices.SortFunc(j.answers, func(x, y answer) int { return cmp.Or(cmp.Compare(x.account, y.account), cmp.Compare(x.id, y.id)) })
	unsure := map[int64]int{}
	for _, u := range j.unanswered {
		unsure[u.account]++
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

// disorder says why there is no trail through the transactions of one account with so many
// gaps; empty if there is one.
func (j *judge) disorder(of []answer, gaps int) string {
	// surplus counts how often a balance was left more often than it was found, 0 once
	// more by the loading; group joins balances that transactions connect.
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
	// The surpluses add up to 1, so that without a negative one a single balance is the
	// last. A gap makes up for one, and joins what is apart.
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
