package servers

import (
	"fmt"
	"strings"
	"testing"

	"assay/store"
)

// recordOf is a record of 12 seconds in which node n1, of one processor, used cpu of
// it, and sessions were as given, once a second.
func recordOf(cpu, busy, locked, onDisk float64) *Record {
	r := &Record{Header: Header{Nodes: []Node{{Name: "assay", CPUs: 2, Shared: true, Tester: true}, {Name: "n1", CPUs: 1}},
		Statistics: []store.Statistic{{Name: "busy", Chart: "Sessions", Means: store.BusySessions},
			{Name: "locked", Chart: "Sessions", Counter: true, Unit: "s", Means: store.LockWaits},
			{Name: "on disk", Chart: "Sessions", Means: store.DiskWaits}}}}
	for i := range 13 {
		at := float64(i)
		r.Samples = append(r.Samples, Sample{At: at, Looks: 1, Nodes: map[string]Usage{"assay": {CPU: at / 10}, "n1": {CPU: at * cpu, Memory: 100}},
			Account: &Account{At: at, Reading: store.Reading{Server: "n1", Values: map[string]float64{"busy": busy, "locked": locked * at, "on disk": onDisk}}}})
	}
	return r
}

func conditions() Conditions {
	return Conditions{From: 0, To: 12, Clients: 4, TesterShare: 0.1, TesterCPUs: 2}
}

// TestTheLimit has each rule with a case in which it holds, and one beside it in which
// it does not.
func TestTheLimit(t *testing.T) {
	for name, c := range map[string]struct {
		record *Record
		change func(*Conditions)
		kind   string
		says   string
	}{
		"the tester":            {recordOf(0.95, 4, 0, 0), func(c *Conditions) { c.TesterShare = 0.96 }, LimitTester, "the tester itself: 96 % of its 2 processors"},
		"the embedded database": {recordOf(0.1, 4, 0, 0), func(c *Conditions) { c.TesterShare, c.Embedded = 0.96, "SQLite" }, LimitTester, "in which SQLite runs, used 96 %"},
		"the processor":         {recordOf(0.97, 4, 0, 0), nil, LimitProcessor, "the processor of n1: 97 % of its 1 processor in the median second"},
		"nearly the processor":  {recordOf(0.89, 4, 0, 0), nil, LimitUnclear, "n1 used 89 % of 1 processor"},
		"locks":                 {recordOf(0.2, 8, 5, 0), nil, LimitLocks, "locks: 62 % of the sampled sessions at work waited for a lock"},
		"the disk":              {recordOf(0.2, 8, 0, 6), nil, LimitDisk, "the disk: 75 %"},
		"nearly the disk":       {recordOf(0.2, 8, 0, 3), nil, LimitUnclear, "38 %"},
		"two limits":            {recordOf(0.97, 8, 0, 6), nil, LimitUnclear, "more than one thing"},
		"few sessions":          {recordOf(0.2, 1, 1, 0), nil, LimitLoad, "closed loop of 4 clients"},
		"idle":                  {recordOf(0.2, 4, 0, 0), nil, LimitLoad, "No limit seen: a closed loop of 4 clients, and assay used 10 % of 2 processors, n1 used 20 % of 1 processor"},
		"an open loop":          {recordOf(0.2, 4, 0, 0), func(c *Conditions) { c.OpenLoop = true }, LimitLoad, "all arrivals were served"},
		"arrivals left":         {recordOf(0.2, 4, 0, 0), func(c *Conditions) { c.OpenLoop, c.Unserved = true, 1 }, LimitUnclear, ""},
		"a short run":           {recordOf(0.97, 4, 0, 0), func(c *Conditions) { c.To = 4 }, LimitUnclear, "intervals in the measured part: 4, and 5 are needed"},
		"faults all the time":   {recordOf(0.97, 4, 0, 0), func(c *Conditions) { c.Faults = [][2]float64{{0.5, 11.5}} }, LimitUnclear, "outside of faults"},
		"a stolen processor":    {recordOf(0.97, 4, 0, 0), func(c *Conditions) { c.Machine = &Machine{CPUs: 2, Steal: 0.4} }, LimitUnclear, "gave 40 %"},
		"the tester unknown":    {recordOf(0.2, 4, 0, 0), func(c *Conditions) { c.TesterShare = -1 }, LimitUnclear, ""},
		"the machine, not shared": {recordOf(0.2, 4, 0, 0), func(c *Conditions) {
			c.Machine = &Machine{CPUs: 2, Tester: 0.1, Servers: 0.1, Others: 0.75}
		}, LimitLoad, ""},
	} {
		conditions := conditions()
		if c.change != nil {
			c.change(&conditions)
		}
		if got := Summarize(c.record, conditions).Limit; got.Kind != c.kind || !strings.Contains(got.Text, c.says) {
			t.Errorf("%s: %+v, want %s with %q", name, got, c.kind, c.says)
		}
	}
}

func TestTheLimitIsTheMachine(t *testing.T) {
	r := recordOf(0.3, 4, 0, 0)
	r.Nodes[1].Shared, r.Nodes[1].CPUs = true, 2
	c := conditions()
	c.Machine = &Machine{CPUs: 2, Tester: 0.4, Servers: 0.5, Others: 0.05}
	if got := Summarize(r, c).Limit; got.Kind != LimitMachine || !strings.Contains(got.Text, "servers 50 %, assay 40 %, others 5 % of 2 processors") {
		t.Errorf("%+v", got)
	}
}

// TestNothingIsKnownOfARemoteServer: without its use no limit is named, nor its absence.
func TestNothingIsKnownOfARemoteServer(t *testing.T) {
	r := recordOf(0.2, 4, 0, 0)
	r.Nodes, r.NoNodes = r.Nodes[:1], "it is elsewhere"
	if got := Summarize(r, conditions()); got.Limit.Kind != LimitUnclear || got.NoNodes == "" {
		t.Errorf("%+v", got)
	}
	r.Statistics = nil
	if got := Summarize(r, conditions()).Limit; got.Kind != LimitUnclear {
		t.Errorf("%+v", got)
	}
}

// TestWhatTransactionsWaitFor: the shares stand in one sentence, the most first, and commits that
// wait for a standby are a limit.
func TestWhatTransactionsWaitFor(t *testing.T) {
	r := recordOf(0.2, 8, 1, 2)
	r.Statistics = append(r.Statistics, store.Statistic{Name: "standby", Means: store.StandbyWaits}, store.Statistic{Name: "client", Means: store.ClientWaits})
	for i := range r.Samples {
		r.Samples[i].Account.Values["standby"], r.Samples[i].Account.Values["client"] = 4.8, 1.5
	}
	got := Summarize(r, conditions())
	const want = "Of the sampled sessions at work, 60 % waited for a standby, 25 % for the disk, 12 % for a lock, and 3 % for none of these. 1.5 sessions on average were in a transaction and waited for the client."
	if got.Waits != want || got.Limit.Kind != LimitReplication || !strings.Contains(got.Limit.Text, "replication: 60 %") {
		t.Errorf("%q, %+v", got.Waits, got.Limit)
	}
	r.Statistics = nil
	if got := Summarize(r, conditions()); got.Waits != "" {
		t.Errorf("%q of nothing", got.Waits)
	}
}

// TestFlowControl: what Galera holds back is a limit of replication.
func TestFlowControl(t *testing.T) {
	r := recordOf(0.2, 4, 0, 0)
	r.Statistics = append(r.Statistics, store.Statistic{Name: "paused", Chart: "Flow", Unit: "s", Counter: true, Means: store.Paused})
	for i := range r.Samples {
		r.Samples[i].Account.Values["paused"] = 0.7 * float64(i)
	}
	if got := Summarize(r, conditions()).Limit; got.Kind != LimitReplication || !strings.Contains(got.Text, "70 % of the time") {
		t.Errorf("%+v", got)
	}
}

// TestGapsAndRestarts: of a node that was not there, of one that was started again, of
// an account that is missing or another server's, nothing is told.
func TestGapsAndRestarts(t *testing.T) {
	r := recordOf(0.5, 4, 1, 0)
	delete(r.Samples[3].Nodes, "n1")
	for i := 6; i < 13; i++ { // started again
		r.Samples[i].Nodes["n1"] = Usage{CPU: float64(i-6) * 0.5}
	}
	r.Samples[9].Account, r.Samples[9].Missed, r.Samples[9].Problem = nil, 1, "no answer in time"
	r.Samples[11].Account.Server = "n2"
	at := func(values []float64) (text string) {
		for _, v := range values {
			text += fmt.Sprintf("%.2g ", v)
		}
		return text
	}
	if got, want := at(r.cpu(r.Nodes[1])), "0.5 0.5 NaN NaN 0.5 NaN 0.5 0.5 0.5 0.5 0.5 0.5 "; got != want {
		t.Errorf("the processor %s, want %s", got, want)
	}
	if got, want := at(r.figure(r.Statistics[1])), "1 1 1 1 1 1 1 1 NaN NaN NaN NaN "; got != want {
		t.Errorf("the counter %s, want %s", got, want)
	}
	if got, want := at(r.figure(r.Statistics[0])), "4 4 4 4 4 4 4 4 NaN 4 4 4 "; got != want {
		t.Errorf("sessions %s, want %s", got, want)
	}
	s := Summarize(r, conditions())
	if s.Missed != 1 || s.Looks != 12 || s.Problem != "no answer in time" || s.Nodes[1].Samples != 9 || s.Nodes[1].Of != 12 {
		t.Errorf("%+v", s)
	}
	if mean := s.Nodes[1].CPUMean; mean == nil || *mean < 0.499 || *mean > 0.501 {
		t.Errorf("the mean use of the processor is %v", mean)
	}
	if charts := r.Charts(); len(charts) != 5 || charts[0].Unit != "share" || charts[4].Title != "Sessions" || len(charts[4].Lines) != 3 {
		t.Errorf("%+v", charts)
	}
}
