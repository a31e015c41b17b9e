package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"assay/internal/expect"
)

func TestAlternatives(t *testing.T) {
	for text, want := range map[string]string{
		"redis:3": "[redis:3]",
		"redis:3,appendfsync=always | no,failover=2s":               "[redis:3,appendfsync=always,failover=2s redis:3,appendfsync=no,failover=2s]",
		"postgres:2,standby=async|sync,set.work_mem=1MB|8MB":        "[postgres:2,standby=async,set.work_mem=1MB postgres:2,standby=async,set.work_mem=8MB postgres:2,standby=sync,set.work_mem=1MB postgres:2,standby=sync,set.work_mem=8MB]",
		"postgres:1,set.log_line_prefix='a|b',disk=faulty,fsync=on": "[postgres:1,disk=faulty,fsync=on,set.log_line_prefix=a|b]",
	} {
		all, err := ParseAlternatives(text)
		expect.NoError(t, err)
		if got := fmt.Sprint(all); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"redis:3|5":                                  "redis cannot be built",
		"redis:3,appendfsync":                        "has no value",
		"redis:3,appendfsync=always|never":           "appendfsync=never",
		"redis:3,memory=64MiB|128MiB":                "other servers, limits",
		"patroni:3,dcs=1|3":                          "other servers, limits",
		"redis:3,set.maxclients='1|2":                "single quotes",
		"redis:3,set.hz=" + strings.Repeat("1|", 70): "at most 64",
	} {
		_, err := ParseAlternatives(text)
		if wrong, is := errors.AsType[*SpecError](err); !is || !strings.Contains(wrong.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
