package visibility

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"assay/check"
	"assay/check/simulated"
)

func opened(kind string) simulated.Judge {
	switch kind {
	case "long-fork":
		return NewLongFork()
	case "comments":
		return NewComments()
	case "sequential":
		return NewSequential()
	case "adya-g2":
		return NewAdyaG2()
	case "causal":
		return NewCausal()
	}
	return NewMonotonic()
}

// Each wrong history stands beside those that differ from it in one thing and
// are right, or show nothing.
func TestMinimalCases(t *testing.T) {
	const (
		w1   = "0 invoke write [[:w 1 1]]; 0 ok write [[:w 1 1]]; "
		w2   = "0 invoke write [[:w 2 1]]; 0 ok write [[:w 2 1]]; "
		read = "; 9 invoke read [[:r 1 nil] [:r 2 nil]]; 9 ok read "
		c1   = "0 invoke write 1; 0 ok write 1; "
		c2   = "0 invoke write 2; 0 ok write 2; "
		list = "9 invoke read; 9 ok read "
		seq  = "9 invoke read 7; 9 ok read "
		init = "0 invoke read-init; 0 ok read-init 0; "
	)
	for _, c := range []struct {
		kind, events string
		want         check.Verdict
		says         string
	}{
		{"long-fork", w1 + w2 + read + "[[:r 1 1] [:r 2 nil]]" + read + "[[:r 2 1] [:r 1 nil]]", check.Violated, "saw the write of 1 and not that of 2, but process 9 (operation 6) saw that of 2 and not that of 1"},
		{"long-fork", w1 + w2 + read + "[[:r 1 1] [:r 2 nil]]" + read + "[[:r 2 1] [:r 1 1]]", check.Valid, "1 pair compared"},
		{"long-fork", w1 + w2 + read + "[[:r 1 1] [:r 2 nil]]", check.Valid, ""},
		{"long-fork", w1 + w2 + read + "[[:r 1 nil] [:r 2 nil]]", check.Unknown, "no read saw a write"},
		{"long-fork", w1 + w1 + read + "[[:r 1 1] [:r 2 nil]]", check.Unknown, "written more than once"},
		{"long-fork", w1 + read + "[[:r 1 1] [:r 2 1]]", check.Violated, "unexpected: process 9 (operation 2) saw 2, which nobody wrote"},
		{"long-fork", w1 + read + "[[:r 1 3] [:r 2 nil]]", check.Violated, "saw 3 as the value of 1, to which 1 was written"},
		{"long-fork", "0 invoke write [[:w 1 1]]; 0 fail write [[:w 1 1]]" + read + "[[:r 1 1] [:r 2 nil]]", check.Violated, "failed-write-read"},
		{"long-fork", "0 invoke write [[:w 1 1]]; 0 info write [[:w 1 1]]" + read + "[[:r 1 1] [:r 2 nil]]", check.Valid, ""},

		{"comments", c1 + c2 + list + "[2]", check.Violated, "saw 2 and missed 1, which process 0 (operation 0) had written before process 0 (operation 2) began"},
		{"comments", c1 + c2 + list + "[2 1]", check.Valid, ""},
		{"comments", c1 + c2 + list + "[1]", check.Valid, ""},
		{"comments", "0 invoke write 1; " + "1 invoke write 2; 1 ok write 2; 0 ok write 1; " + list + "[2]", check.Valid, ""},
		{"comments", "0 invoke write 1; 0 info write 1; 1 invoke write 2; 1 ok write 2; " + list + "[2]", check.Valid, ""},
		{"comments", c1 + "1 invoke write 2; 1 info write 2; " + list + "[2]", check.Violated, "earlier-write-missing"},
		{"comments", c1 + list + "[1 5]", check.Violated, "which nobody wrote"},
		{"comments", list + "[1]; " + c1, check.Violated, "future-read"},
		{"comments", c1 + list + "[]", check.Unknown, "no read saw a write"},

		{"sequential", seq + "[7 [nil 1 0]]", check.Valid, "1 of the first ones alone"},
		{"sequential", seq + "[7 [2 nil 0]]", check.Violated, "found 2 and then missed part 2 of 3"},
		{"sequential", seq + "[7 [2 1 0]]", check.Valid, "1 of all parts"},
		{"sequential", seq + "[7 [nil nil]]", check.Unknown, "no read found a part"},

		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 ok insert; 1 invoke insert [1 [nil 2]]; 1 ok insert", check.Violated, "each must have missed the other's row"},
		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 ok insert; 1 invoke insert [2 [nil 2]]; 1 ok insert", check.Valid, "acknowledged for 2 keys"},
		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 ok insert; 1 invoke insert [1 [nil 2]]; 1 fail insert", check.Valid, ""},
		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 ok insert; 1 invoke insert [1 [nil 2]]; 1 info insert", check.Valid, ""},
		{"adya-g2", "0 invoke insert [1 [1 nil]]; 0 info insert", check.Unknown, "no insert was acknowledged"},

		{"causal", init + c1 + "0 invoke read; 0 ok read 1", check.Valid, ""},
		{"causal", init + c1 + "0 invoke read; 0 ok read 0", check.Violated, "read 0, but the register held 1"},
		{"causal", "0 invoke read-init; 0 ok read-init 1", check.Violated, "read 1, but the register held 0"},
		{"causal", init + "0 invoke write 1; 0 info write 1; 1 invoke read; 1 ok read 1; 1 invoke read; 1 ok read 0", check.Violated, "read 0, but the register held 1"},
		{"causal", init + "0 invoke write 1; 0 info write 1; 1 invoke read; 1 ok read 0; 1 invoke read; 1 ok read 1", check.Valid, ""},
		{"causal", init + "0 invoke write 1; 0 fail write 1; 1 invoke read; 1 ok read 1", check.Violated, "read 1"},
		{"causal", init + c2, check.Violated, "wrote 2, which comes after 1"},
		{"causal", c1, check.Unknown, "no read was answered"},

		{"monotonic", "0 invoke add; 0 ok add {:val 1 :sts 10.5M}; 0 invoke add; 0 ok add {:val 2 :sts 11}; " + list + "[{:val 1 :sts 10.5M} {:val 2 :sts 11}]", check.Valid, "found 2 rows"},
		{"monotonic", list + "[{:val 2 :sts 10} {:val 1 :sts 11}]", check.Violated, "found, in the order of time, the value 2 of time 10 before the value 1 of time 11"},
		{"monotonic", list + "[{:val 1 :sts 11.5} {:val 2 :sts 11.25}]", check.Violated, "out-of-order"},
		{"monotonic", list + "[{:val 1 :sts 10} {:val 1 :sts 11}]", check.Violated, "in two rows"},
		{"monotonic", "0 invoke add; 0 ok add {:val 1 :sts 10}; " + list + "[{:val 2 :sts 11}]", check.Violated, "lost: process 0 (operation 0) added the value 1"},
		{"monotonic", "9 invoke read; 0 invoke add; 0 ok add {:val 1 :sts 10}; 9 ok read [{:val 2 :sts 11}]", check.Valid, ""},
		{"monotonic", list + "[]", check.Unknown, "no read found a row"},
	} {
		simulated.Expect(t, opened(c.kind), c.events, c.want, c.says)
	}
}

// An operation that is not linked to the one before it contradicts it.
func TestLinksOfACausalRegister(t *testing.T) {
	const text = `{:process 0, :type :invoke, :f :read-init} {:process 0, :type :ok, :f :read-init, :value 0, :position 5, :link :init}
{:process 0, :type :invoke, :f :read} {:process 0, :type :ok, :f :read, :value 0, :position 6, :link LINK}`
	for link, want := range map[string]check.Verdict{"5": check.Valid, ":init": check.Valid, "4": check.Violated} {
		ops, err := simulated.Read(strings.Replace(text, "LINK", link, 1))
		if err != nil {
			t.Fatal(err)
		}
		if r := simulated.Judged(t, opened("causal"), ops); r.Verdict != want {
			t.Errorf("linked to %s: %v %+v", link, r.Verdict, r.Evidence)
		}
	}
}

// What no history of the kind has is refused.
func TestUnfitOperations(t *testing.T) {
	for kind, events := range map[string][]string{
		"long-fork":  {"0 invoke add 1", "0 invoke write 5", "0 invoke write [[:w 1 1] [:w 2 1]]", "0 invoke write [[:append 1 1]]", "0 invoke read [[:r 1]]", "0 invoke read [[:r 1 nil] [:r 1 nil]]; 0 ok read [[:r 1 nil] [:r 1 nil]]"},
		"comments":   {"0 invoke add 1", "0 invoke write", "0 invoke read 5", "0 invoke read; 0 ok read 5"},
		"sequential": {"0 invoke add 1", "0 invoke write [1]", "0 invoke read [1 2 3]", "0 invoke read 1; 0 ok read 5", "0 invoke read 1; 0 ok read [1 2]"},
		"adya-g2":    {"0 invoke add 1", "0 invoke insert 5", "0 invoke insert [1 2]"},
		"causal":     {"0 invoke add 1", "0 invoke write", "0 invoke write :a", "0 invoke read; 0 ok read :a"},
		"monotonic":  {"0 invoke add 1", "0 invoke write", "0 invoke add; 0 ok add 5", "0 invoke add; 0 ok add {:val 1 :sts a}", "0 invoke add; 0 ok add {:val :a :sts 5}", `0 invoke add; 0 ok add {:val 1 :sts "1p5"}`, `0 invoke add; 0 ok add {:val 1 :sts "0x10"}`, "0 invoke add; 0 ok add {:val 1 :sts 1e999999999}", "0 invoke read; 0 ok read 5", "0 invoke read; 0 ok read [5]"},
	} {
		for _, text := range events {
			simulated.Refused(t, opened(kind), text)
		}
	}
}

// The same history gives the same evidence, also where not all of it is listed.
func TestEvidenceIsTheSameAgain(t *testing.T) {
	events := "9 invoke read; 9 ok read [{:val 99 :sts 9}]; "
	for v := range 30 {
		events = fmt.Sprintf("0 invoke add; 0 ok add {:val %d :sts %d}; ", v, v) + events
	}
	ops := simulated.MustRead(t, events)
	first := simulated.Judged(t, opened("monotonic"), ops)
	for range 5 {
		if again := simulated.Judged(t, opened("monotonic"), ops); !reflect.DeepEqual(first, again) {
			t.Fatalf("%+v\n%+v", first, again)
		}
	}
}
