package cluster

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/cluster/machine"
	"assay/internal/expect"
)

func TestParseSpec(t *testing.T) {
	s, err := ParseSpec("mongodb:2+arbiter,memory=400MiB,cpu=0.5,disk=2MB,network=loopback,election=2s")
	expect.NoError(t, err)
	if s.Product != "mongodb" || s.Nodes != 2 || s.Arbiters != 1 || s.Network != NetworkLoopback {
		t.Errorf("%+v", s)
	}
	if want := (machine.Limits{Memory: 400 << 20, CPU: 0.5, DiskWrite: 2e6}); s.Limits != want {
		t.Errorf("limits %+v, want %+v", s.Limits, want)
	}
	if s.duration("election") != 2*time.Second || s.size("cache") != 0 {
		t.Errorf("options %v", s.Options)
	}
	if names := strings.Join(s.names(), " "); names != "n1 n2 n3" {
		t.Errorf("names %s", names)
	}
	again, err := ParseSpec(s.String())
	if err != nil || again.String() != s.String() || again.Limits != s.Limits {
		t.Errorf("%s reads as %+v, %v", s, again, err)
	}
}

func TestBandwidthOfLinks(t *testing.T) {
	for text, want := range map[string]int64{"1Gbit": 1e9, "2500Mbit": 2.5e9, "100kbit": 100_000, "100Gbit": 100e9} {
		s, err := ParseSpec("postgres:1,network=own,bandwidth=" + text)
		if err != nil || s.Bandwidth != want || s.String() != "postgres:1,network=own,bandwidth="+text {
			t.Errorf("%s: %s, %d, %v", text, s, s.Bandwidth, err)
		}
	}
}

func TestDisksOfTheirOwn(t *testing.T) {
	s, err := ParseSpec("postgres:1,disk=image")
	if err != nil || s.Disk != DiskImage || s.Limits != (machine.Limits{}) || s.String() != "postgres:1,disk=image" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = ParseSpec("postgres:1,fs=xfs"); err != nil || s.String() != "postgres:1,disk=image,fs=xfs" {
		t.Errorf("%s, %v", s, err)
	}
}

// wantRefusal wants a *SpecError that says this.
func wantRefusal(t *testing.T, about string, err error, says string) {
	t.Helper()
	var wrong *SpecError
	if !errors.As(err, &wrong) || !strings.Contains(err.Error(), says) {
		t.Errorf("%q: %v; want it to speak of %q", about, err, says)
	}
}

func TestSpecsThatNobodyCanBuild(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "no product",
		"mongodb":                 "mongodb:3",
		"mongodb:":                "mongodb:3",
		"mongodb:0":               "mongodb:3",
		"mongodb:-1":              "mongodb:3",
		"mongodb:50":              "mongodb:3",
		"mongodb:three":           "mongodb:3",
		"mongodb:3+arbiter":       "even",
		"mongodb:2+witness":       "+arbiter",
		"oracle:1":                "no product \"oracle\"",
		"mongodb:3,":              "has no value",
		"mongodb:3,memory":        "has no value",
		"mongodb:3,memory=lots":   "400MiB",
		"mongodb:3,memory=5":      "400MiB",
		"mongodb:3,memory=-4MiB":  "400MiB",
		"mongodb:3,cpu=0":         "cpu=PROCESSORS",
		"mongodb:3,cpu=NaN":       "cpu=PROCESSORS",
		"mongodb:3,network=token": "network=own",
		"mongodb:3,election=soon": "election=DURATION",
		"mongodb:3,electoin=2s":   "options: memory, disk, fs, cpu, network, bandwidth, election",
		"mongodb:3,standby=async": "options: memory",
		"mongodb:3,disk=tape":     "disk=image",

		"mongodb:3,disk=image,disk=1MiB": "either",

		"mongodb:3,bandwidth=1GiB":                        "such as 1Gbit",
		"mongodb:3,bandwidth=1kbit":                       "100kbit to 100Gbit",
		"mongodb:3,bandwidth=1Gbit,network=loopback":      "network=own",
		"postgres:2,pooler=odyssey":                       "pooler=pgbouncer",
		"postgres:2,pool_size=5":                          "without pooler",
		"postgres:2,pooler=pgbouncer,pool_size=0":         "pool_size=NUMBER",
		"postgres:2,pooler=pgbouncer,pool_mode=statement": "pool_mode=session",
		"mariadb:3,pooler=pgbouncer":                      "mariadb's options",
		"patroni:1":                                       "patroni:3",
		"patroni:3,synchronous_mode=sometimes":            "synchronous_mode=strict",
		"patroni:3,ttl=1500ms":                            "ttl=SECONDS",
		"patroni:3,ttl=20s":                               "loop_wait + 2*retry_timeout of at most ttl",
		"patroni:3,dcs=2":                                 "dcs=3",
		"patroni:3,pooler=pgbouncer":                      "without proxy",
		"patroni:3,set.synchronous_standby_names=x":       "synchronous_mode= says",
		"repmgr:3,set.shared_preload_libraries=x":         "repmgr's",
		"postgres:3,proxy=haproxy":                        "postgres's options",
		"mongodb:3,fs=zfs":                                "fs=ext4 or fs=xfs",
		"mongodb:3,fs=xfs,disk=faulty":                    "disk=image",
		"mongodb:3,fs=xfs,disk=20MiB":                     "disk=image",
	} {
		_, err := ParseSpec(text)
		wantRefusal(t, text, err, want)
	}
}

func FuzzParseSpec(f *testing.F) {
	f.Add("mongodb:3,memory=400MiB,cpu=1.25")
	f.Add("mongodb:2+arbiter,network=own")
	f.Add("postgres:1,set.search_path='a, b''s',set.x==',set.y=''")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpec(text)
		if err != nil {
			return
		}
		again, err := ParseSpec(s.String())
		if err != nil || again.String() != s.String() || again.Limits != s.Limits || again.Nodes != s.Nodes || !slices.Equal(again.Parameters, s.Parameters) {
			t.Errorf("%q is %+v, which reads as %+v, %v", text, s, again, err)
		}
	})
}
