package foundationdb

import (
	"testing"

	"assay/driver/ordered"
	"assay/history"
	"assay/store"
)

// TestNothingHappensBeforeTheCommit, whatever the error.
func TestNothingHappensBeforeTheCommit(t *testing.T) {
	for code := range 5000 {
		if outcome, class := judge(code, false); outcome != history.Failed || class == "" {
			t.Errorf("error %d before the commit: %v, %q", code, outcome, class)
		}
	}
}

func TestErrorsOfTheCommit(t *testing.T) {
	failed := map[int]string{
		1020: store.ClassSerialization, 1007: classTooOld, 1009: classBehind, 1037: classBehind, 1038: classLocked,
		1042: classThrottled, 1051: classThrottled, 1078: classThrottled, 1213: classThrottled, 1223: classThrottled,
		2101: ordered.ClassTooLarge, 2102: ordered.ClassTooLarge, 2103: ordered.ClassTooLarge,
	}
	unknown := map[int]string{
		1021: classUnknown, 1025: store.ClassTimeout, 1031: store.ClassTimeout, 1004: store.ClassTimeout, 1039: classVersion,
		0: store.ClassOther, 1101: store.ClassOther, 1500: store.ClassOther, 4000: store.ClassOther, 4100: store.ClassOther,
	}
	for code := range 5000 {
		outcome, class := judge(code, true)
		if want, proven := failed[code]; proven && (outcome != history.Failed || class != want) {
			t.Errorf("error %d of the commit: %v, %q; want failed, %q", code, outcome, class, want)
		} else if !proven && outcome != history.Unknown {
			t.Errorf("error %d of the commit: %v; nothing proves that it had no effect", code, outcome)
		}
		if want, known := unknown[code]; known && class != want {
			t.Errorf("error %d of the commit: %q, want %q", code, class, want)
		}
	}
}

func TestWhatIsTriedAgain(t *testing.T) {
	want := map[int]bool{1007: true, 1009: true, 1020: true, 1021: true, 1037: true, 1039: true, 1042: true, 1051: true, 1078: true, 1213: true, 1223: true}
	for code := range 5000 {
		if repeatable(code) != want[code] {
			t.Errorf("error %d: tried again is %v", code, repeatable(code))
		}
	}
}
