package record

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/fault"
	"assay/history"
	"assay/internal/expect"
	"assay/measure"
	"assay/report"
)

func faultEvent(t *testing.T, at time.Duration, f Fault) history.Event {
	t.Helper()
	text, err := json.Marshal(f)
	expect.NoError(t, err)
	return history.Event{At: int64(at), Name: EventFault, Detail: string(text)}
}

// TestFaultsAreReadBack: the history's last word on a fault holds, and the cluster's is kept.
func TestFaultsAreReadBack(t *testing.T) {
	var d Log
	began := Fault{Number: 1, Action: "kill", Target: "primary", Nodes: []string{"n2"}, Injected: int64(6 * time.Second)}
	ended := began
	ended.Healed, ended.Proven, ended.Proof = int64(9*time.Second), true, "process 4711 is gone"
	for _, e := range []history.Event{
		faultEvent(t, 6*time.Second, began),
		{At: int64(8 * time.Second), Name: EventCluster, Detail: "n1 was promoted"},
		faultEvent(t, 9*time.Second, ended),
		faultEvent(t, 10*time.Second, Fault{Number: 2, Action: "pause", Target: "n2", Injected: int64(7 * time.Second), Skipped: true, Problem: "n2 is down"}),
		faultEvent(t, 12*time.Second, Fault{Number: 3, Action: "flaky=20%", Target: "any", Injected: int64(12 * time.Second)}),
		{At: int64(20 * time.Second), Name: EventSettled, Detail: "after 1 s"},
	} {
		expect.NoError(t, d.Event(e))
	}
	acted, indexes := d.Acted(int64(15 * time.Second))
	if len(acted) != 2 || acted[0].Healed != int64(9*time.Second) || acted[1].Healed != int64(15*time.Second) || !slices.Equal(indexes, []int{0, 2}) {
		t.Fatalf("acted %+v at %v", acted, indexes)
	}
	r := &report.Result{Started: time.Unix(1000, 0), Cluster: &report.Cluster{}}
	impact := measure.Impact{FaultPeriod: acted[0], LongestWrite: measure.Call{Length: int64(2 * time.Second)},
		Writes: measure.Gap{From: int64(5 * time.Second), To: int64(8 * time.Second), Known: true}}
	d.Enter(r, []measure.Impact{impact, {FaultPeriod: acted[1]}}, indexes)
	first := r.Faults[0]
	if !first.Proven || first.HealedSecond != 9 || first.WriteOutage != 3000 || first.ReadOutage != -1 || first.RecoveredAfter != 2000 ||
		first.LongestCall != 2000 || !first.HealedAt.Equal(time.Unix(1009, 0)) {
		t.Errorf("%+v", first)
	}
	if !r.Faults[1].Skipped || r.Faults[2].RecoveredAfter != -1 {
		t.Errorf("%+v", r.Faults)
	}
	if len(r.Cluster.Events) != 1 || r.Cluster.Events[0].Second != 8 || r.Cluster.Settled != "after 1 s" {
		t.Errorf("%+v", r.Cluster)
	}
	if reasons := d.Unproven(); len(reasons) != 2 || reasons[0] != "a fault did nothing: pause n2: n2 is down" || !strings.Contains(reasons[1], "flaky=20% any at 12.0 s is not proven") {
		t.Errorf("reasons %q", reasons)
	}
	d.Faults[1].Asked, d.Faults[2].Proven = "pause n2 every 3s", true
	expect.NoError(t, d.Event(faultEvent(t, 14*time.Second, Fault{Number: 4, Action: "pause", Target: "n2", Asked: "pause n2 every 3s", Injected: int64(13 * time.Second), Healed: int64(14 * time.Second), Proven: true})))
	if reasons := d.Unproven(); len(reasons) != 1 || !strings.Contains(reasons[0], "not healed") {
		t.Errorf("reasons %q", reasons)
	}
	for at, healed := range map[int64]bool{4: true, 5: false} {
		i := fault.Injection{Number: 9, Fault: fault.Fault{Action: "isolate", Target: "n1"}, InjectedAt: time.Unix(1001, 0), HealedAt: time.Unix(1002, 0), Proven: true}
		expect.NoError(t, d.Event(faultEvent(t, 0, FaultOf(i, r.Started)))) // when it has ended
		if i.Healed = healed; !healed {
			i.Problem = "n1: 127.0.0.1:5432 does not answer"
		}
		expect.NoError(t, d.Event(faultEvent(t, time.Duration(at), FaultOf(i, r.Started))))
		reasons := d.Unproven()
		if away := len(reasons) == 2 && strings.Contains(reasons[1], "was not seen to be back after a fault: isolate n1 at 1.0 s: n1: 127.0.0.1:5432 does not answer"); away == healed {
			t.Errorf("healed %v: reasons %q", healed, reasons)
		}
	}
	if err := d.Event(history.Event{Name: EventFault, Detail: "{"}); err == nil {
		t.Error("half a record was taken")
	}
}

// TestFaultsThatNeverActed are told once, however often each was skipped.
func TestFaultsThatNeverActed(t *testing.T) {
	var d Log
	for i, f := range []Fault{
		{Asked: "pause n2 when n2 rejoins", Action: "pause", Target: "n2", Problem: `skipped: it waited for "n2 rejoins", which never came`},
		{Asked: "kill primary every 2s", Action: "kill", Target: "primary", Problem: "skipped: no primary"},
		{Asked: "kill primary every 2s", Action: "kill", Target: "primary", Problem: "skipped: no primary"},
		{Asked: "kill n1 every 2s", Action: "kill", Target: "n1", Problem: "skipped: n1 is down already"},
		{Asked: "kill n1 every 2s", Action: "kill", Target: "n1", Proven: true, Healed: 9},
	} {
		f.Number, f.Skipped = i+1, !f.Proven
		expect.NoError(t, d.Event(faultEvent(t, time.Second, f)))
	}
	want := []string{`a fault did nothing: pause n2 when n2 rejoins: it waited for "n2 rejoins", which never came`, "a fault did nothing: kill primary every 2s: no primary"}
	if reasons := d.Unproven(); !slices.Equal(reasons, want) {
		t.Errorf("reasons %q", reasons)
	}
}

// TestWhoTookOverUnseen: the final primary is neither the first nor the last one that a fault
// brought.
func TestWhoTookOverUnseen(t *testing.T) {
	seen := func(number int, name string, injected, after time.Duration) history.Event {
		return faultEvent(t, injected, Fault{Number: number, Action: "isolate", Target: "any", Injected: int64(injected), NewPrimary: name, NewPrimaryAfter: int64(after)})
	}
	inPlaceOf := func(old, name string, injected time.Duration) history.Event {
		return faultEvent(t, injected, Fault{Number: int(injected / time.Second), Action: "kill", Target: old, Injected: int64(injected), Primary: old, NewPrimary: name})
	}
	for _, c := range []struct {
		faults      []history.Event
		first, last string
		want        string
	}{
		{nil, "n1", "n1", ""},
		{nil, "n1", "n2", "n2"},
		{[]history.Event{seen(1, "n2", time.Second, time.Second)}, "n1", "n2", ""},
		{[]history.Event{seen(1, "", time.Second, 0)}, "n1", "n2", "n2"},
		{[]history.Event{seen(1, "n3", time.Second, time.Minute), seen(2, "n2", 2*time.Second, time.Second)}, "n1", "n3", ""},
		{[]history.Event{seen(1, "n2", time.Second, time.Second)}, "n1", "n1", "n1"},
		{nil, "n1,n2,n3", "n3,n1,n2", ""},
		{nil, "n1,n2,n3", "n1,n5,n3", "n5"},
		{[]history.Event{inPlaceOf("n2", "n5", time.Second)}, "n1,n2,n3", "n1,n5,n3", ""},
		{[]history.Event{inPlaceOf("n2", "n5", time.Second), inPlaceOf("n1", "n4", 2*time.Second), inPlaceOf("n5", "n2", 3*time.Second)}, "n1,n2,n3", "n4,n2,n3", ""},
		{[]history.Event{inPlaceOf("n2", "n5", time.Second)}, "n1,n2,n3", "n1,n2,n3", "n2"},
	} {
		var d Log
		all := append(c.faults, history.Event{Name: EventLeader, Detail: c.first}, history.Event{At: int64(time.Hour), Name: EventLeader, Detail: c.last})
		for _, e := range all {
			expect.NoError(t, d.Event(e))
		}
		r := &report.Result{Started: time.Unix(1000, 0), Cluster: &report.Cluster{TookOver: "what was found before"}}
		d.Enter(r, nil, nil)
		if r.Cluster.TookOver != c.want || len(r.Cluster.Events) > 0 != (c.want != "") {
			t.Errorf("%s and then %s: %+v; want %q", c.first, c.last, r.Cluster, c.want)
		}
	}
}

// TestTwoPrimariesAreTold by the event of the history.
func TestTwoPrimariesAreTold(t *testing.T) {
	r := &report.Result{Cluster: new(report.Cluster)}
	var one, two Log
	if one.Enter(r, nil, nil); r.Cluster.TwoPrimaries {
		t.Error("one primary is taken for two")
	}
	for _, e := range []history.Event{{Name: EventTwoPrimaries}, {Name: EventSettled, Detail: "n1 takes writes of its own"}} {
		expect.NoError(t, two.Event(e))
	}
	if two.Enter(r, nil, nil); !r.Cluster.TwoPrimaries || r.Cluster.Settled != "n1 takes writes of its own" {
		t.Errorf("two primaries: %+v", r.Cluster)
	}
}

// TestADeadServerSpoilsTheFigures: they are of a cluster that was not asked for.
func TestADeadServerSpoilsTheFigures(t *testing.T) {
	var d Log
	text := "n1 ended by itself (signal: killed); it may use 256MiB of memory, beyond which the kernel ends it"
	expect.NoError(t, d.Event(history.Event{At: int64(48 * time.Second), Name: EventDied, Detail: text}))
	const want = "a server died: at 48.0 s n1 ended by itself (signal: killed); it may use 256MiB of memory, beyond which the kernel ends it; its log is in the run's folder"
	if reasons := d.Unproven(); len(reasons) != 1 || reasons[0] != want {
		t.Errorf("reasons %q", reasons)
	}
	r := &report.Result{Cluster: &report.Cluster{}}
	d.Enter(r, nil, nil)
	if e := r.Cluster.Events; len(e) != 1 || e[0].Text != text || e[0].Second != 48 {
		t.Errorf("events %+v", e)
	}
}

// TestAServerMayEndByItsDisk: a server that ends itself while its disk fails follows its manual.
// Another server, or another time, does not.
func TestAServerMayEndByItsDisk(t *testing.T) {
	for _, c := range []struct {
		node, action string
		second       int64
		spoils       bool
	}{
		{"n1", "fsync-error", 21, false},
		{"n1", "fsync-error", 19, true},
		{"n1", "fsync-error", 32, true},
		{"n2", "fsync-error", 21, true},
		{"n1", "disk-full", 21, false},
		{"n1", "fsync-error=old", 21, false},
		{"n1", "read-error=base/*/*", 21, false},
		{"n1", "slow-fsync", 21, true},
	} {
		d := Log{Faults: []Fault{{Number: 1, Action: c.action, Target: "primary", Nodes: []string{"n1"}, Injected: 20e9, Healed: 30e9, Proven: true}}}
		expect.NoError(t, d.Event(history.Event{At: c.second * 1e9, Name: EventDied, Detail: c.node + " ended by itself (exit status 14)"}))
		if reasons := d.Unproven(); len(reasons) > 0 != c.spoils {
			t.Errorf("%+v: reasons %q", c, reasons)
		}
	}
}

// TestFaultsAreToldOnOneClock: times count from the run's start; beside them is the requested time,
// from the measured part's start.
func TestFaultsAreToldOnOneClock(t *testing.T) {
	d := Log{Faults: []Fault{{Number: 1, Action: "kill", Target: "primary", Nodes: []string{"n1"}, Injected: 11e9, Healed: 12e9, Proven: true}}}
	r := report.Result{Series: report.Series{MeasureStart: 1, MeasureEnd: 30}}
	d.Enter(&r, nil, nil)
	if f := r.Faults[0]; f.InjectedSecond != 11 || f.InjectedMeasured == nil || *f.InjectedMeasured != 10 {
		t.Errorf("%+v", f)
	}
	var text, markdown strings.Builder
	expect.NoError(t, errors.Join(report.Text(&text, &r, report.TextOptions{Width: 300}), report.Markdown(&markdown, &r)))
	for form, said := range map[string]string{"text": text.String(), "Markdown": markdown.String()} {
		if !strings.Contains(said, "11 s of the run (10 s of the measured part)") {
			t.Errorf("the %s: %s", form, said)
		}
	}
}
