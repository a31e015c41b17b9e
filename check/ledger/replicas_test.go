package ledger

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"assay/check"
	"assay/history"
	"assay/internal/expect"
)

type copyOf struct {
	accounts []held
	rows     []Row
}

func (c copyOf) clone() copyOf { return copyOf{slices.Clone(c.accounts), slices.Clone(c.rows)} }

func (c copyOf) state(account func(id, balance, version int64), row func(Row)) error {
	for _, a := range c.accounts {
		account(a.id, a.balance, a.version)
	}
	for _, r := range c.rows {
		row(r)
	}
	return nil
}

func replicasOf(t testing.TB, primary copyOf, replicas ...copyOf) check.Result {
	t.Helper()
	var all []Replica
	for i, c := range replicas {
		all = append(all, Replica{Name: fmt.Sprintf("r%d", i+1), State: c.state})
	}
	r, err := Replicas(Primary{State: primary.state}, all, func(id int64) (history.Outcome, bool) { return history.Committed, id != 7 })
	expect.NoError(t, err)
	return r
}

func sampleCopy(accounts, rows int) (c copyOf) {
	for i := range int64(accounts) {
		c.accounts = append(c.accounts, held{i + 1, 1000 + i, i})
	}
	for i := range int64(rows) {
		c.rows = append(c.rows, Row{i, i%5 + 1, i%7 + 1, 10 * i, i + 1, i + 2})
	}
	return c
}

func TestEqualReplicas(t *testing.T) {
	primary := sampleCopy(30, 5000)
	other := primary.clone()
	slices.Reverse(other.rows)
	r := replicasOf(t, primary, other, primary)
	if r.Verdict != check.Valid || r.Name != "replicas" || r.Detail != "2 replicas hold exactly the primary's 30 accounts and 5,000 journal rows" {
		t.Errorf("%v: %s %v", r.Verdict, r.Detail, r.Evidence)
	}
}

// A copy known to be the primary's is not read, and counts. A copy that had not caught up does not.
func TestReplicasThatAreTheSame(t *testing.T) {
	r := base()
	j := r.judge(t)
	if accounts, rows := j.Read(); accounts != int64(len(r.accounts)) || rows != int64(len(r.rows)) || rows == 0 {
		t.Errorf("%d accounts and %d rows were read", accounts, rows)
	}
	j.Incomplete(Journal, "torn")
	if accounts, rows := j.Read(); accounts+rows != 0 {
		t.Errorf("%d accounts and %d rows of a torn state", accounts, rows)
	}
	primary := sampleCopy(30, 50)
	unread := func(func(id, balance, version int64), func(Row)) error { return errors.New("read") }
	other := primary.clone()
	other.rows[0].Amount++
	for name, c := range map[string]struct {
		replicas []Replica
		want     check.Verdict
		detail   string
	}{
		"alone": {[]Replica{{Name: "a", State: unread, Same: true}}, check.Valid, "1 replica holds exactly the primary's 30 accounts and 50 journal rows"},
		"beside one that is read": {[]Replica{{Name: "a", State: unread, Same: true}, {Name: "b", State: other.state}}, check.Violated,
			"2 replicas compared with the primary's 30 accounts and 50 journal rows: 1 different-row"},
		"behind": {[]Replica{{Name: "a", State: unread, Same: true, Incomplete: "late"}}, check.Unknown, "replica a was not compared: late"},
	} {
		known := Primary{State: primary.state, Accounts: 30, Rows: 50}
		for _, p := range []Primary{known, {State: primary.state}} {
			if r, err := Replicas(p, c.replicas, nil); err != nil || r.Verdict != c.want || r.Detail != c.detail {
				t.Errorf("%s: %v: %s, %v", name, r.Verdict, r.Detail, err)
			}
		}
	}
}

func TestEachDifferenceOfAReplicaIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		change func(primary, replica *copyOf)
		kind   string
		text   string
	}{
		"a row missing on the replica": {func(_, r *copyOf) { r.rows = slices.Delete(r.rows, 40, 41) }, kindMissingOnReplica,
			"transfer 40, which ended as committed, is 400 from account 1 (version 41) to 6 (version 42) on the primary and missing on replica r1"},
		"a row missing on the primary": {func(p, _ *copyOf) { p.rows = slices.Delete(p.rows, 7, 8) }, kindMissingOnPrimary,
			"transfer 7 is 70 from account 3 (version 8) to 1 (version 9) on replica r1 and missing on the primary"},
		"a row twice on the replica": {func(_, r *copyOf) { r.rows = append(r.rows, r.rows[9]) }, kindMissingOnPrimary, "transfer 9, "},
		"a row twice on the primary": {func(p, _ *copyOf) { p.rows = append(p.rows, p.rows[9]) }, kindMissingOnReplica, "transfer 9, "},
		"another amount": {func(_, r *copyOf) { r.rows[3].Amount++ }, kindDifferentRow,
			"transfer 3, which ended as committed, is 30 from account 4 (version 4) to 4 (version 5) on the primary and 31 from account 4 (version 4) to 4 (version 5) on replica r1"},
		"another source":              {func(_, r *copyOf) { r.rows[3].Source++ }, kindDifferentRow, "transfer 3"},
		"another destination":         {func(_, r *copyOf) { r.rows[3].Destination++ }, kindDifferentRow, "transfer 3"},
		"another source version":      {func(_, r *copyOf) { r.rows[3].SourceVersion++ }, kindDifferentRow, "transfer 3"},
		"another destination version": {func(_, r *copyOf) { r.rows[3].DestinationVersion++ }, kindDifferentRow, "transfer 3"},
		"another balance": {func(_, r *copyOf) { r.accounts[3].balance-- }, kindDifferentAccount,
			"account 4 is 1003 at version 3 on the primary and 1002 at version 3 on replica r1"},
		"another version":                 {func(_, r *copyOf) { r.accounts[3].version++ }, kindDifferentAccount, "account 4"},
		"an account missing on a replica": {func(_, r *copyOf) { r.accounts = r.accounts[:29] }, kindMissingOnReplica, "account 30 is 1029 at version 29 on the primary and missing on replica r1"},
		"an account missing on a primary": {func(p, _ *copyOf) { p.accounts = p.accounts[1:] }, kindMissingOnPrimary, "account 1 is 1000 at version 0 on replica r1 and missing on the primary"},
		"an account in excess":            {func(_, r *copyOf) { r.accounts = append(r.accounts, held{id: 99}) }, kindMissingOnPrimary, "account 99 is 0 at version 0 on replica r1"},
	} {
		primary := sampleCopy(30, 500)
		replica := primary.clone()
		c.change(&primary, &replica)
		r := replicasOf(t, primary, replica)
		if r.Verdict != check.Violated || r.Found != 1 || r.Evidence[0].Kind != c.kind || !strings.HasPrefix(r.Evidence[0].Text, c.text) || len(r.Evidence[0].Fields) == 0 {
			t.Errorf("%s: %v, %d found: %s %v", name, r.Verdict, r.Found, r.Detail, r.Evidence)
		}
		if twin := replicasOf(t, replica, replica.clone()); twin.Verdict != check.Valid {
			t.Errorf("%s: the twin is %v: %s", name, twin.Verdict, twin.Detail)
		}
	}
}

func TestDifferencesOfSeveralReplicasAreCounted(t *testing.T) {
	primary := sampleCopy(10, 300)
	short, other := primary.clone(), primary.clone()
	short.rows = short.rows[:250]
	short.accounts[0].balance++
	other.rows[0].Amount++
	r := replicasOf(t, primary, short, primary, other)
	if r.Found != 52 || len(r.Evidence) != check.MaxEvidence ||
		r.Detail != "3 replicas compared with the primary's 10 accounts and 300 journal rows: 50 missing-on-replica, 1 different-row, 1 different-account" {
		t.Errorf("%d found, %d listed: %s", r.Found, len(r.Evidence), r.Detail)
	}
	expect.Text(t, r.Evidence[0], r.Evidence[0].Text, "transfer 250, ")
}

// More differs than fits for comparison one by one: the counts still hold.
func TestReplicasThatDifferInNearlyEverything(t *testing.T) {
	const rows = 3 * compareRoom
	primary := sampleCopy(10, rows)
	replica := copyOf{accounts: primary.accounts}
	for _, c := range []struct {
		name             string
		primary, replica copyOf
		kind             string
		found            int64
	}{
		{"all rows are missing", primary, replica, kindMissingOnReplica, rows},
		{"all rows are in excess", replica, primary, kindMissingOnPrimary, rows},
	} {
		r := replicasOf(t, c.primary, c.replica)
		if r.Found != c.found || r.Evidence[0].Kind != c.kind || !strings.HasSuffix(r.Detail, ", at least") {
			t.Errorf("%s: %d found: %s", c.name, r.Found, r.Detail)
		}
	}
	other := primary.clone()
	for i := range other.rows {
		other.rows[i].Amount++
	}
	r := replicasOf(t, primary, other)
	if r.Verdict != check.Violated || r.Found < compareRoom/2+groups/2 || r.Found > rows || r.Evidence[0].Kind != kindDifferentRow || !strings.HasSuffix(r.Detail, ", at least") {
		t.Errorf("%d found: %s", r.Found, r.Detail)
	}
	same := copyOf{accounts: primary.accounts} // one id that is everywhere
	for range compareRoom + 1 {
		same.rows = append(same.rows, Row{ID: 5})
	}
	if r := replicasOf(t, replica, same); r.Found != compareRoom+1 || len(r.Evidence) != 1 ||
		r.Evidence[0].Text != "of replica r1 at least "+check.Count(compareRoom+1)+" more accounts and journal rows are missing on the primary" {
		t.Errorf("%d found: %s %v", r.Found, r.Detail, r.Evidence)
	}
}

// The detail says that some differences were only counted, whatever comes after.
func TestReplicasThatWereCountedOnlyOnce(t *testing.T) {
	primary := sampleCopy(2, 3)
	other := primary.clone()
	other.rows[1].Amount++
	short, long, twice := primary.clone(), primary.clone(), other.clone()
	short.rows = short.rows[:1]
	long.rows = append(long.rows, Row{ID: 77}, Row{ID: 78}, Row{ID: 79})
	twice.rows[2].Amount++
	for name, c := range map[string]struct {
		room     int64
		replicas []Replica
		detail   string
	}{
		"first of two": {1, []Replica{{Name: "a", State: other.state}, {Name: "b", State: primary.state}}, "1 different-row, at least"},
		"both":         {1, []Replica{{Name: "a", State: other.state}, {Name: "b", State: other.state}}, "2 different-row, at least"},
		"missing":      {0, []Replica{{Name: "a", State: short.state}}, ": 2 missing-on-replica, at least"},
		"in excess":    {0, []Replica{{Name: "a", State: long.state}}, ": 3 missing-on-primary, at least"},
		"one of two":   {3, []Replica{{Name: "a", State: twice.state}}, ": 2 different-row, at least"},
		"two of two":   {4, []Replica{{Name: "a", State: twice.state}}, ": 2 different-row"},
		"neither":      {2, []Replica{{Name: "a", State: other.state}, {Name: "b", State: primary.state}}, ": 1 different-row"},
	} {
		j := comparison{primary: Primary{State: primary.state}, room: c.room, found: newFindings(replicaKinds)}
		r, err := j.judge(c.replicas)
		if err != nil || r.Verdict != check.Violated || !strings.HasSuffix(r.Detail, c.detail) {
			t.Errorf("%s: %v: %s, %v", name, r.Verdict, r.Detail, err)
		}
	}
}

// Accounts are reported before rows, each by id, with the primary's content.
func TestDifferencesAreToldInOrder(t *testing.T) {
	primary := sampleCopy(12, 40)
	replica := copyOf{accounts: slices.Clone(primary.accounts[2:]), rows: slices.Clone(primary.rows[4:])}
	var told []string
	for _, e := range replicasOf(t, primary, replica).Evidence {
		told = append(told, strings.Join(strings.Fields(strings.NewReplacer(",", "").Replace(e.Text))[:2], " "))
		if e.Fields["account"] == 2 && (e.Fields["balance"] != 1001 || e.Fields["version"] != 1 || len(e.Fields) != 3) {
			t.Errorf("%v", e.Fields)
		}
		if id, row := e.Fields["id"]; row && (e.Fields["amount"] != 10*id || e.Fields["source_version"] != id+1 || len(e.Fields) != 6) {
			t.Errorf("%v", e.Fields)
		}
	}
	if want := "account 1, account 2, transfer 0, transfer 1, transfer 2, transfer 3"; strings.Join(told, ", ") != want {
		t.Errorf("told %v, want %s", told, want)
	}
}

func TestReplicasThatCannotBeJudged(t *testing.T) {
	whole := sampleCopy(3, 3)
	state := State(whole.state)
	for name, c := range map[string]struct {
		primary  State
		replicas []Replica
		detail   string
	}{
		"no replica":       {state, nil, "no replica"},
		"an empty primary": {copyOf{}.state, []Replica{{Name: "a", State: copyOf{}.state}}, "no account was read from the primary"},
		"one not read":     {state, []Replica{{Name: "a"}, {Name: "b", State: state}}, "1 replica holds exactly the primary's 3 accounts and 3 journal rows; replica a was not read"},
		"two not compared": {state, []Replica{{Name: "a"}, {Name: "b", Incomplete: "down"}}, "replica a was not read; replica b was not compared: down"},
		"one incomplete":   {state, []Replica{{Name: "a", State: copyOf{}.state, Incomplete: "ten seconds behind"}}, "replica a was not compared: ten seconds behind"},
	} {
		r, err := Replicas(Primary{State: c.primary}, c.replicas, nil)
		if err != nil || r.Verdict != check.Unknown || !strings.Contains(r.Detail, c.detail) {
			t.Errorf("%s: %v %s, %v", name, r.Verdict, r.Detail, err)
		}
	}
	// A finding on one replica stays.
	r, err := Replicas(Primary{State: state}, []Replica{{Name: "a"}, {Name: "b", State: sampleCopy(3, 2).state}}, nil)
	if err != nil || r.Verdict != check.Violated || !strings.HasPrefix(r.Evidence[0].Text, "transfer 2 is 20") {
		t.Errorf("%v %s, %v", r.Verdict, r.Detail, err)
	}
}

func TestReplicasThatCannotBeRead(t *testing.T) {
	broken := errors.New("torn")
	whole := sampleCopy(3, 3)
	// fails returns a state that can be read some times and then fails.
	fails := func(times int, c copyOf) State {
		return func(account func(id, balance, version int64), row func(Row)) error {
			if times--; times < 0 {
				return broken
			}
			return c.state(account, row)
		}
	}
	for name, c := range map[string]struct {
		primary, replica State
		says             string
	}{
		"primary":       {fails(0, whole), whole.state, "read the primary: torn"},
		"replica":       {whole.state, fails(0, whole), "read replica a: torn"},
		"primary again": {fails(1, whole), sampleCopy(3, 4).state, "read the primary again: torn"},
		"replica again": {whole.state, fails(1, sampleCopy(3, 4)), "read replica a again: torn"},
	} {
		if _, err := Replicas(Primary{State: c.primary}, []Replica{{Name: "a", State: c.replica}}, nil); !errors.Is(err, broken) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	reads := 0
	turning := func(account func(id, balance, version int64), row func(Row)) error {
		c := whole.clone()
		if reads++; reads == 1 {
			c.rows[0].Amount++
		}
		return c.state(account, row)
	}
	if _, err := Replicas(Primary{State: whole.state}, []Replica{{Name: "a", State: turning}}, nil); err == nil || !strings.Contains(err.Error(), "not the same when they were read again") {
		t.Errorf("a row that turns into another: %v", err)
	}
	reads = 0
	moving := func(account func(id, balance, version int64), row func(Row)) error {
		reads++
		return sampleCopy(3, max(3, 5-reads)).state(account, row)
	}
	if _, err := Replicas(Primary{State: whole.state}, []Replica{{Name: "a", State: moving}}, nil); err == nil || !strings.Contains(err.Error(), "not the same when they were read again") {
		t.Errorf("a state that moves: %v", err)
	}
}

func TestOutcomeOfATransfer(t *testing.T) {
	r := base()
	r.op(2, history.Rejected)
	r.ops = append(r.ops, history.Op{Seq: 3, Last: true, Kind: kindAudit, Final: history.Committed}, history.Op{Seq: 4, Kind: kindTransfer})
	j := r.judge(t)
	for id, want := range map[int64]struct {
		outcome history.Outcome
		ok      bool
	}{0: {history.Committed, true}, 2: {history.Rejected, true}, 3: {}, 4: {history.Unknown, true}, 5: {}, 1 << 40: {}, -1: {}} {
		if outcome, ok := j.Outcome(id); outcome != want.outcome || ok != want.ok {
			t.Errorf("transfer %d: %v, %v", id, outcome, ok)
		}
	}
}
