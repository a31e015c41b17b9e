package redis

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"assay/store"
)

func TestAddresses(t *testing.T) {
	for address, want := range map[string]settings{
		"redis://h":                       {hosts: []string{"h:6379"}, prefix: "assay"},
		"redis://:p%40w@h:7/2":            {hosts: []string{"h:7"}, user: "default", password: "p@w", number: 2, prefix: "assay"},
		"redis://u:p%40w@h:7/2?prefix=x_": {hosts: []string{"h:7"}, user: "u", password: "p@w", number: 2, prefix: "x_"},
		"redis+sentinel://a,b:1,[::1]/name?db=3&wait=2&waitMS=10": {hosts: []string{"a:26379", "b:1", "[::1]:26379"}, service: "name", number: 3, prefix: "assay",
			wait: 2, waitFor: 10 * time.Millisecond},
		"redis://h?waitMS=10": {hosts: []string{"h:6379"}, prefix: "assay"},
	} {
		got, err := parse(store.Target{Address: address})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if !slices.Equal(got.hosts, want.hosts) || got.service != want.service || got.user != want.user || got.password != want.password ||
			got.number != want.number || got.prefix != want.prefix || got.wait != want.wait || got.waitFor != want.waitFor || got.encryption != nil {
			t.Errorf("%s: %+v, want %+v", address, got, want)
		}
	}
	for _, address := range []string{"rediss://h", "rediss+sentinel://h/n", "rediss+cluster://h,h2?tlsInsecure=true"} {
		if s, err := parse(store.Target{Address: address}); err != nil || s.encryption == nil {
			t.Errorf("%s: %+v, %v", address, s, err)
		}
	}
}

func TestAddressesThatCannotBeUsed(t *testing.T) {
	for _, target := range []store.Target{
		{Address: "redis://u:hunter2@a,b"}, {Address: "redis://u:hunter2@h/name"}, {Address: "redis+sentinel://u:hunter2@h"},
		{Address: "redis://u:hunter2@h?wait=-1"}, {Address: "redis://u:hunter2@h?wait=x"}, {Address: "redis://u:hunter2@h?waitMS=0"},
		{Address: "redis://u:hunter2@h?prefix=a*"}, {Address: "redis://u:hunter2@h?prefix="}, {Address: "redis://u:hunter2@h?db=1"},
		{Address: "redis://u:hunter2@h?tlsCAFile=x"}, {Address: "rediss://u:hunter2@h?tlsCAFile=/nowhere"}, {Address: "redis+sentinel://u:hunter2@h/n?tlsInsecure=true"}, {Address: "redis+cluster://u:hunter2@h?tlsInsecure=true"}, {Address: "rediss+others://u:hunter2@h"},
		{Address: "redis://:@h"}, {Address: "redis://:6379"}, {Address: "redis://u@h"}, {Address: "redis+sentinel://u:@h/n"}, {Address: "redis://u:hunter2@h/0/1"}, {Address: "redis:h"},
		{Address: "redis://u:hunter2@h", Isolation: "serializable"}, {Address: "redis://u:hunter2@h", Read: store.ReadNearest},
	} {
		_, err := parse(target)
		var option *store.OptionError
		if !errors.As(err, &option) || strings.Contains(fmt.Sprintf("%v %#v", err, option), "hunter2") {
			t.Errorf("%+v: %v", target, err)
		}
	}
	if _, err := parseSchema(store.Target{Address: "redis://h"}, &store.Schema{Existing: true}); err == nil {
		t.Error("tables that are there already were accepted")
	}
}
