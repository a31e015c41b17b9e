package uri

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"assay/internal/expect"
	"assay/store"
)

const (
	form = "db://HOST"
	port = "77"
)

func parse(text string) (*Address, error) { return Parse(text, form, port, "db", "database") }

func TestAddresses(t *testing.T) {
	for text, want := range map[string]Address{
		"db://host":                   {Hosts: []string{"host:77"}},
		"database://u@10.0.0.1:5/":    {User: "u", Hosts: []string{"10.0.0.1:5"}},
		"db://u:p%40%2F:x@h1:1,h2/a":  {User: "u", Password: "p@/:x", Hosts: []string{"h1:1", "h2:77"}, Path: "a"},
		"db://[::1]:3,[fe80::2],h,h":  {Hosts: []string{"[::1]:3", "[fe80::2]:77", "h:77"}},
		"db://h:007,h:7/my%20db?x=%3": {},
		"db://h:007,h:7/my%20db?x=1&y=a%26b&z": {Hosts: []string{"h:7"}, Path: "my db",
			Options: Options{"x": "1", "y": "a&b", "z": ""}},
	} {
		got, err := parse(text)
		if want.Hosts == nil {
			if option := (*store.OptionError)(nil); !errors.As(err, &option) {
				t.Errorf("%s: %+v, %v", text, got, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got.User != want.User || got.Password != want.Password || got.Path != want.Path ||
			!slices.Equal(got.Hosts, want.Hosts) || !maps.Equal(got.Options, want.Options) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestAddressesThatCannotBeUsed(t *testing.T) {
	hosts := make([]string, MostHosts+1)
	for i := range hosts {
		hosts[i] = fmt.Sprint("h", i)
	}
	for _, text := range []string{
		"", "db", "db:u:hunter2@a", "other://a", "db://", "db:///x", "db://a,,b", "db://a,", "db://u:hunter2@", "db://:hunter2@a",
		"db://u:hunter2@a:0", "db://u:hunter2@a:70000", "db://u:hunter2@a:port", "db://u:hunter2@a:1:2", "db://u:hunter2@a b", "db://-a",
		"db://u:hunter2@[::1", "db://u:hunter2@[::1]x", "db://u:hunter2@[a]", "db://u:hunter%@a", "db://u%:hunter2@a", "db://v@u:hunter2@a",
		"db://u:hun/ter2@a", "db://u:hun?ter2@a", "db://u:hun#ter2@a", "db://u:hunter2@a/x/y", "db://u:hunter2@a/%zz",
		"db://u:hunter2@a?x=%zz", "db://u:hunter2@a?x=1&x=2", "db://u:hunter2@" + strings.Join(hosts, ","),
	} {
		_, err := parse(text)
		option := (*store.OptionError)(nil)
		if !errors.As(err, &option) || option.Want == "" || strings.Contains(err.Error(), "hun") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOptions(t *testing.T) {
	read := func() Options {
		o, err := ReadOptions("mode=on&count=5&many=x&other=1&another=2")
		expect.NoError(t, err)
		return o
	}
	o := read()
	if mode, err := o.Choose("mode", "off", "on"); mode != "on" || err != nil {
		t.Errorf("%q, %v", mode, err)
	}
	if none, err := o.Choose("mode", "off", "on"); none != "" || err != nil {
		t.Errorf("what was taken is there still: %q, %v", none, err)
	}
	for _, c := range []struct{ absent, least, most, want int }{{0, 1, 5, 5}, {3, 1, 5, 3}} { // absent the second time
		if n, err := o.Integer("count", "from 1 to 5", c.absent, c.least, c.most); n != c.want || err != nil {
			t.Errorf("%+v: %d, %v", c, n, err)
		}
	}
	if value, given := o.Take("many"); value != "x" || !given {
		t.Errorf("%q, %t", value, given)
	}
	wants := func(err error, option, value, want string) {
		t.Helper()
		if e := (*store.OptionError)(nil); !errors.As(err, &e) || e.Option != option || e.Value != value || e.Want != want {
			t.Errorf("%v; want %s, %s, %s", err, option, value, want)
		}
	}
	wants(o.None("mode, count"), anOption, "another", "mode, count")
	_, err := read().Choose("mode", "off")
	wants(err, "mode", "on", "off")
	_, err = read().Integer("count", "at most 4", 1, 0, 4)
	wants(err, "count", "5", "at most 4")
	_, err = read().Integer("count", "at least 6", 1, 6, 9)
	wants(err, "count", "5", "at least 6")
	_, err = read().Integer("many", "a number", 1, 0, 4)
	wants(err, "many", "x", "a number")
	expect.NoError(t, (Options{}).None("nothing"))
}

// FuzzParse: accepted texts are bounded and round-trip; errors show nothing of the others.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"db://u:hunter2@h1:1,h2/?a=b", "database://u:hunter2@[::1]:5/x", "db://", "db://:hunter2@,", "db://u:hunter2@h/#"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parse(text)
		if err != nil {
			if option := (*store.OptionError)(nil); !errors.As(err, &option) || a != nil {
				t.Errorf("%+v, %T", a, err)
			}
			return
		}
		if len(a.Hosts) == 0 || len(a.Hosts) > MostHosts {
			t.Errorf("hosts %q", a.Hosts)
		}
		again := "db://" + strings.Join(a.Hosts, ",") + "/" + url.PathEscape(a.Path)
		if a.User != "" {
			again = "db://" + url.UserPassword(a.User, a.Password).String() + "@" + again[len("db://"):]
		}
		second, err := parse(again)
		if err != nil || second.User != a.User || second.Password != a.Password || second.Path != a.Path || !slices.Equal(second.Hosts, a.Hosts) {
			t.Errorf("%q was read as %+v, which is written as %q and read as %+v, %v", text, a, again, second, err)
		}
	})
}

// TestPlus: a plus of an address is a plus, as in time_zone=+02:00 or a file's name.
func TestPlus(t *testing.T) {
	options, err := ReadOptions("time_zone=+02:00&file=/a+b%20c%2B")
	expect.NoError(t, err)
	if options["time_zone"] != "+02:00" || options["file"] != "/a+b c+" {
		t.Errorf("%v", options)
	}
}
