package fault

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Fault{
		"kill pooler at 2s for 5s":        {Action: "kill", Target: "pooler", At: 2 * time.Second, For: 5 * time.Second},
		"kill 2 dcs every 20s":            {Action: "kill", Target: "2 dcs", At: -1, Every: 20 * time.Second},
		"isolate  all\tdcs at 1s":         {Action: "isolate", Target: "all dcs", At: time.Second},
		"pause monitor2 for 3s":           {Action: "pause", Target: "monitor2", At: -1, For: 3 * time.Second},
		"restart n2 or n3  every 2m":      {Action: "restart", Target: "n2 or n3", At: -1, Every: 2 * time.Minute},
		"kill pod/a or pod/b or n1 at 1s": {Action: "kill", Target: "pod/a or pod/b or n1", At: time.Second},
		"switchover at 5s":                {Action: "switchover", Target: "primary", At: 5 * time.Second},
		"stop proxy":                      {Action: "stop", Target: "proxy", At: -1},
		"partition primary,all dcs at 1s": {Action: "partition", Target: "primary,all dcs", At: time.Second},
		"partition 2 dcs>n1":              {Action: "partition", Target: "2 dcs>n1", At: -1},
		"rolling-restart":                 {Action: "rolling-restart", Target: "cluster", At: -1},
		"rolling-restart every 20s":       {Action: "rolling-restart", Target: "cluster", At: -1, Every: 20 * time.Second},
		"rolling-restart set.a=1,set.b='x,y' at 3s": {
			Action: "rolling-restart", Target: "cluster", Value: "set.a=1,set.b='x,y'", At: 3 * time.Second},
		"grow at 3s":                          {Action: "grow", Target: "cluster", At: 3 * time.Second},
		"kill primary every 20s":              {Action: "kill", Target: "primary", At: -1, Every: 20 * time.Second},
		"isolate primary at 10s for 15s":      {Action: "isolate", Target: "primary", At: 10 * time.Second, For: 15 * time.Second},
		"pause any every 30s for 5s":          {Action: "pause", Target: "any", At: -1, Every: 30 * time.Second, For: 5 * time.Second},
		"partition halves at 10s for 10s":     {Action: "partition", Target: "halves", At: 10 * time.Second, For: 10 * time.Second},
		"loss=20% n1,n2 at 5s for 10s":        {Action: "flaky", Target: "n1,n2", Value: 0.2, At: 5 * time.Second, For: 10 * time.Second},
		"flaky=20% any at 5s for 10s":         {Action: "flaky", Target: "any", Value: 0.2, At: 5 * time.Second, For: 10 * time.Second},
		"isolate=clients primary at 10s":      {Action: "isolate", Target: "primary", Value: "clients", At: 10 * time.Second},
		"slowdisk=1MiB all":                   {Action: "slowdisk", Target: "all", Value: int64(1 << 20), At: -1},
		"slowdisk=1.5MB all":                  {Action: "slowdisk", Target: "all", Value: int64(1_500_000), At: -1},
		"slowcpu=0.1 primary":                 {Action: "slowcpu", Target: "primary", Value: 0.1, At: -1},
		"clock=+60s any at 5s for 20s":        {Action: "clock", Target: "any", Value: time.Minute, At: 5 * time.Second, For: 20 * time.Second},
		"clock=-1h30m n12":                    {Action: "clock", Target: "n12", Value: -90 * time.Minute, At: -1},
		"restart secondary at 0s":             {Action: "restart", Target: "secondary"},
		" stop\tn2  for 1m  at 500ms\n":       {Action: "stop", Target: "n2", At: 500 * time.Millisecond, For: time.Minute},
		"partition ring every 1m0s for 1m30s": {Action: "partition", Target: "ring", At: -1, Every: time.Minute, For: 90 * time.Second},
		"grow cluster at 20s for 1m":          {Action: "grow", Target: "cluster", At: 20 * time.Second, For: time.Minute},
		"remove secondary every 30s":          {Action: "remove", Target: "secondary", At: -1, Every: 30 * time.Second},
		"backup n1 at 10s":                    {Action: "backup", Target: "n1", At: 10 * time.Second},
		"backup=copy any every 1m":            {Action: "backup", Target: "any", Value: "copy", At: -1, Every: time.Minute},
		"restore at 40s":                      {Action: "restore", Target: "backup", At: 40 * time.Second},
		"restore=25s backup at 40s":           {Action: "restore", Target: "backup", Value: 25 * time.Second, At: 40 * time.Second},
		"remove n3":                           {Action: "remove", Target: "n3", At: -1},
		"kill primary while loading at 2s":    {Action: "kill", Target: "primary", Loading: true, At: 2 * time.Second},
		"pause n1 for 3s every 4s while loading": {
			Action: "pause", Target: "n1", Loading: true, At: -1, Every: 4 * time.Second, For: 3 * time.Second},
		"partition n1,n2 at 10s for 15s":            {Action: "partition", Target: "n1,n2", At: 10 * time.Second, For: 15 * time.Second},
		"partition primary,pod/db-3":                {Action: "partition", Target: "primary,pod/db-3", At: -1},
		"kill any for 1s # chaos.yaml:3 PodChaos x": {Action: "kill", Target: "any", At: -1, For: time.Second, Source: "chaos.yaml:3 PodChaos x"},
		"partition any>all":                         {Action: "partition", Target: "any>all", At: -1},
		"partition any[a=b,c>5]>all[a=d]":           {Action: "partition", Target: "any[a=b,c>5]>all[a=d]", At: -1},
		"kill 2 every 20s":                          {Action: "kill", Target: "2", At: -1, Every: 20 * time.Second},
		"pause 0..50%":                              {Action: "pause", Target: "0..50%", At: -1},
		"evict all[role=standby]":                   {Action: "evict", Target: "all[role=standby]", At: -1},
		"partition oneway":                          {Action: "partition", Target: "oneway", At: -1},
		"kill primary at 10s for ever":              {Action: "kill", Target: "primary", At: 10 * time.Second, For: Ever},
		"isolate=clients n1 for ever while loading": {
			Action: "isolate", Target: "n1", Value: "clients", Loading: true, At: -1, For: Ever},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
			continue
		}
		if again, err := Parse(got.String()); err != nil || again != got {
			t.Errorf("%q is written %q and read %+v, %v", text, got, again, err)
		}
	}
}

func TestWhatParseRefuses(t *testing.T) {
	for _, c := range []struct {
		text          string
		position      int
		problem, want string
	}{
		{"", 1, `no action ""`, "one of kill, stop"},
		{"murder primary", 1, `no action "murder"`, "one of kill, stop"},
		{"Kill primary", 1, `no action "Kill"`, "kill"},
		{"kill", 5, "the target is missing", "primary, secondary, any, all"},
		{"kill leader", 6, `no target "leader"`, "primary, secondary, any, all"},
		{"kill n0", 6, `no target "n0"`, "n2"},
		{"kill=9 primary", 5, "takes no value", "kill TARGET"},
		{"kill halves", 6, `no target "halves"`, "primary"},
		{"partition primary", 11, `no target "primary"`, "halves, one, ring, oneway"},
		{"partition n1", 11, `no target "n1"`, "halves"},
		{"partition n1,n1", 11, `no target "n1,n1"`, "two sides such as n1,n2"},
		{"kill # n1", 10, "the target is missing", "primary"},
		{"partition n1,", 11, `no target "n1,"`, "two sides"},
		{"partition n1|n2", 11, `no target "n1|n2"`, "n1,n2 or primary,n3"},
		{"partition n1,n2,n3", 11, `no target "n1,n2,n3"`, "two sides"},
		{"partition all,all", 11, `no target "all,all"`, "two sides"},
		{"partition primary,primary", 11, "no target", "two sides"},
		{"partition halves,n1", 11, "no target", "two sides"},
		{"partition 2", 11, `no target "2"`, "halves"},
		{"kill n1,n2", 6, `no target "n1,n2"`, "primary"},
		{"kill 0", 6, `no target "0"`, "a number such as 2"},
		{"kill 101%", 6, "no target", "50%"},
		{"kill 5..50%", 6, "no target", "0..50%"},
		{"kill any[", 6, "no target", "any[role=standby]"},
		{"kill any[role=]]", 6, "no target", "labels"},
		{"kill n1[a=b]", 6, "no target", "labels"},
		{"kill n1 dcs", 6, `no target "n1 dcs"`, "a role such as pooler"},
		{"kill dcs0", 6, "no target", "dcs1"},
		{"kill pooler pooler", 6, "no target", "a role"},
		{"kill any[a=b] dcs", 6, "no target", "a role"},
		{"slowcpu 2 dcs", 9, "no target", "a node's name"},
		{"partition dcs", 11, "no target", "two sides"},
		{"rolling-restart n1", 17, `no target "n1"`, "cluster"},
		{"rolling-restart set.a cluster", 17, "cannot be used", "set.NAME=VALUE"},
		{"rolling-restart set.a='x cluster", 17, "cannot be used", "set.NAME=VALUE"},
		{"rolling-restart=a=1 cluster", 17, "cannot be used", "set.NAME=VALUE"},
		{"rolling-restart for 5s", 17, "does not last", "stop"},
		{"remove 2", 8, `no target "2"`, "a node's name"},
		{"backup all", 8, `no target "all"`, "primary, secondary, any"},
		{"backup=tar n1", 8, `no way "tar"`, "copy"},
		{"backup", 7, "the target is missing", "primary"},
		{"restore n1 at 4s", 9, `no target "n1"`, "backup"},
		{"restore=-1s at 4s", 9, "cannot be used", "such as 20s"},
		{"restore at 4s for 5s", 15, "does not last", ""},
		{"grow n4", 6, `no target "n4"`, "cluster"},
		{"grow=2 cluster", 5, "takes no value", "grow TARGET"},
		{"kill primary while", 19, "the only phase", "while loading"},
		{"kill primary while running at 2s", 20, "the only phase", "while loading"},
		{"kill primary while loading while loading", 28, "said already", "once"},
		{"kill cluster", 6, `no target "cluster"`, "primary"},
		{"remove all", 8, `no target "all"`, "primary, secondary, any, a node's name"},
		{"kill primary at", 16, "the time after \"at\" is missing", "20s"},
		{"kill primary at 10", 17, `"10" has no unit`, "10s"},
		{"kill primary every 0.5", 20, "has no unit", "0.5s"},
		{"kill primary at soon", 17, "is no duration", "20s"},
		{"kill primary at -5s", 17, "too short", "to come"},
		{"kill primary every 10ms", 20, "too often", "100ms"},
		{"kill primary for 0s", 18, "too short", "to come"},
		{"kill primary at 10000h", 17, "too long", "a year"},
		{"kill primary at 5s at 6s", 20, "said already", "once"},
		{"kill primary at 5s every 6s", 20, "do not go together", "either"},
		{"kill primary now", 14, `"now" has no meaning`, "at T, every T, when EVENT, for T, for ever or while loading"},
		{"restart primary for 5s", 17, "does not last", "stop"},
		{"restart primary for ever", 17, "does not last", "stop"},
		{"kill primary for evr", 18, "is no duration", "did you mean ever?"},
		{"kill primary at ever", 17, "is no duration", "20s"},
		{"kill primary every ever", 20, "is no duration", "20s"},
		{"kill primary every 5s for ever", 23, "do not go together", "at T for ever"},
		{"kill primary for ever every 5s", 23, "do not go together", "every T for T"},
		{"kill primary for", 17, "is missing", "or ever"},
		{"rolling-upgrade", 16, "of nothing", "rolling-upgrade=VERSION, a version such as 15.18"},
		{"flaky=0 any", 7, `"0" cannot be used`, "20%"},
		{"flaky=120% any", 7, `"120%" cannot be used`, "at most 1"},
		{"flaky=NaN any", 7, "cannot be used", "20%"},
		{"slowcpu= any", 9, `"" cannot be used`, "0.1"},
		{"slowcpu=0.001 any", 9, "cannot be used", "from 0.01"},
		{"slowdisk=fast any", 10, "cannot be used", "1MiB"},
		{"slowdisk=1 any", 10, "cannot be used", "at least 1KiB"},
		{"clock=60s any", 7, "cannot be used", "with a sign"},
		{"clock=+60 any", 7, "cannot be used", "a unit"},
		{"clock=+0s any", 7, "cannot be used", "sign"},
		{"isolate=nodes any", 9, `from "nodes"`, "isolate=clients"},
	} {
		_, err := Parse(c.text)
		var wrong *ParseError
		if !errors.As(err, &wrong) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if wrong.Position != c.position || !strings.Contains(wrong.Problem, c.problem) || !strings.Contains(wrong.Want, c.want) || wrong.Text != c.text {
			t.Errorf("%q: %+v; want position %d, %q, %q", c.text, *wrong, c.position, c.problem, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"kill primary every 20s", "isolate=clients n3 at 1m for 2s", "flaky=12.5% any", "slowcpu=0.33 all", "slowdisk=1.1kB n1",
		"clock=-0.000000001s any", "partition ring at 0s", "restart any every 100ms", "kill n1 for ever", "kill 2 dcs", "partition any>all monitor", "rolling-restart set.a=1 every 1m", "partition n1,n2 at 1s", "partition any[a=b,c>5]>all", "kill 0..50% every 1m", "kill n1 # chaos.yaml:1 PodChaos x", "kill n1 for 1s ## #", "stop 2[app=db]", "clock=+1h0m1s any for 3h0m0s", "kill  ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Parse(text)
		if err != nil {
			var wrong *ParseError
			if !errors.As(err, &wrong) || wrong.Position < 1 || wrong.Position > len(text)+1 || wrong.Want == "" {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		again, err := Parse(got.String())
		if err != nil || again != got {
			t.Fatalf("%q is %+v, is written %q, and read %+v, %v", text, got, got, again, err)
		}
	})
}

func TestEveryActionIsParsed(t *testing.T) {
	for _, about := range Actions() {
		target := about.Targets[0]
		text := about.Name + " " + target
		if about.asks {
			text = about.Name + "=12.22 " + target
		}
		f, err := Parse(text)
		if err != nil || f.Action != about.Name || f.String() != text {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
		if about.Effect+about.Pods == "" || about.part == "" || about.state == "" || (about.Value.Form == "") != (about.Value.Default == "") {
			t.Errorf("%s is not described: %+v", about.Name, about)
		}
	}
}
