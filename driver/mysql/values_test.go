package mysql

import (
	"testing"

	"assay/store"
)

func literal(text string, parameters []store.Value) string {
	return string(bind(nil, text, parameters))
}

// TestLiterals has the server read literals.
func TestLiterals(t *testing.T) {
	conn := admin(t)
	for _, want := range []string{"", "plain", `it's "quoted"`, `back\slash`, `\'; DROP TABLE x; --`, "line\nend\x00\x1a%_", "é€𝄞", "$1 $2"} {
		text := literal("SELECT $2, $1", []store.Value{store.OfInt(-7), store.OfText(want)})
		var got string
		var n int
		if err := conn.QueryRowContext(t.Context(), text).Scan(&got, &n); err != nil || got != want || n != -7 {
			t.Errorf("%q: %q, %d, %v", want, got, n, err)
		}
		text = literal("SELECT $1", []store.Value{store.OfBytes([]byte(want))})
		if err := conn.QueryRowContext(t.Context(), text).Scan(&got); err != nil || got != want {
			t.Errorf("bytes of %q: %q, %v", want, got, err)
		}
	}
}

func TestStatementTexts(t *testing.T) {
	parameters := []store.Value{store.OfKeys([]int64{1, -2}), store.OfList([]int64{3, 4}), store.OfBool(true)}
	for text, want := range map[string]string{
		"a IN ($1), $2 = $3 $": "a IN (1,-2), '3,4' = true $", "$4 $0 $": "$4 $0 $", "$2$2": "'3,4''3,4'", "none": "none",
	} {
		if got := literal(text, parameters); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
