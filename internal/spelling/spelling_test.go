package spelling

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"kill", "stop", "isolate", "serializable", "read committed", "w"}
	for text, want := range map[string]string{
		"kil": "kill", "killl": "kill", "Stop": "stop", "islate": "isolate", "isolat": "isolate", "serialisable": "serializable",
		"read comitted": "read committed", "kick": "", "klil": "kill", "ksotp": "", "sotp": "stop", "tsop": "stop", "tosp": "", "": "", "x": "", "hug": "", "database": "", "stop": "",
	} {
		if got, found := Nearest(text, known); got != want || found != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, found, want)
		}
	}
	if got := Hint("clints", "--", []string{"clients", "rate"}); got != "; did you mean --clients?" {
		t.Error(got)
	}
	if got := Hint("hug", "", known); got != "" {
		t.Error(got)
	}
}
