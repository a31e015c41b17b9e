package cluster

import (
	"slices"
	"testing"

	"assay/internal/expect"
)

func TestOtherParameters(t *testing.T) {
	s, err := ParseSpec("postgres:2,shared_buffers=64MiB,set.work_mem=4MB,set.max_connections=50")
	expect.NoError(t, err)
	set, err := ParseParameters("set.Work-Mem=8MB,set.DateStyle='ISO, DMY'")
	expect.NoError(t, err)
	changed, err := s.WithParameters(set)
	expect.NoError(t, err)
	if want := []Parameter{{"max_connections", "50"}, {"Work-Mem", "8MB"}, {"DateStyle", "ISO, DMY"}}; !slices.Equal(changed.Parameters, want) {
		t.Errorf("%q", changed.Parameters)
	}
	if len(s.Parameters) != 2 || s.Parameters[0].Value != "4MB" {
		t.Errorf("the spec itself has changed: %q", s.Parameters)
	}
	for text, want := range map[string]string{
		"":                         "set.NAME=VALUE",
		"work_mem=8MB":             "set.NAME=VALUE",
		"set.work_mem":             "set.NAME=VALUE",
		"set.work_mem='8MB":        "single quotes",
		"set.a=1,set.a=2":          "once",
		"set.port=1":               "by them it reaches the server",
		"set.fsync=off":            "what was acknowledged is judged by what fsync was then",
		"set.Wal-Writer-Delay=1s":  "judged",
		"set.shared_buffers=128MB": "both set the same",
	} {
		set, err := ParseParameters(text)
		if err == nil {
			_, err = s.WithParameters(set)
		}
		wantRefusal(t, text, err, want)
	}
	for spec, want := range map[string]string{"sqlite:1": "sqlite", "redis:3": "no way to start servers of redis", "patroni:3": "no way to start servers of patroni"} {
		s, err := ParseSpec(spec)
		expect.NoError(t, err)
		_, err = s.WithParameters(set)
		wantRefusal(t, spec, err, want)
	}
}

func TestRoles(t *testing.T) {
	for name, want := range map[string]string{"n1": "", "n12": "", "pooler": RolePooler, "dcs3": RoleDCS, "monitor1": RoleMonitor, "proxy": RoleProxy, "dcsx": "", "": ""} {
		if got := RoleOf(name); got != want {
			t.Errorf("%q is a %q, want %q", name, got, want)
		}
	}
	three := func(Spec) int { return 3 }
	front := topology{roles: []role{poolerRole("x"), {name: RoleDCS, count: three, apart: true}, {name: RoleMonitor, count: three}}}
	s := Spec{Nodes: 2, Arbiters: 1, Options: map[string]string{"pooler": "pgbouncer"}}
	if got := front.namesApart(s); !slices.Equal(got, []string{"dcs1", "dcs2", "dcs3"}) {
		t.Errorf("apart are %v", got)
	}
	if p, d, w := front.numberOf(s, RolePooler), front.numberOf(s, RoleDCS), front.numberOf(s, RoleMonitor); p != 3 || d != 4 || w != 7 {
		t.Errorf("numbers %d, %d, %d", p, d, w)
	}
	if got := front.roles[0].names(s); !slices.Equal(got, []string{"pooler"}) {
		t.Errorf("%v", got)
	}
	for role, want := range map[string]string{RolePooler: "postgres:3,pooler=pgbouncer", RoleProxy: "patroni:3,proxy=haproxy",
		RoleDCS: "patroni:3", RoleMonitor: "pg-auto-failover:2"} {
		if got := ExampleOf(role); got != want {
			t.Errorf("example of a %s %q", role, got)
		}
	}
	if _, err := ParseSpec(ExampleOf(RolePooler)); err != nil {
		t.Error(err)
	}
}
