package postgres

import (
	"context"
	"slices"
	"testing"
	"time"

	"assay/internal/expect"
	"assay/store"
)

// TestEmptyValues: a first parameter that is empty is no null.
func TestEmptyValues(t *testing.T) {
	for _, v := range []store.Value{store.OfText(""), store.OfBytes(nil)} {
		var encoded, text encoder
		if data, _ := encoded.encode([]store.Value{v, store.OfInt(1)}, nil); data[0] == nil || len(data[0]) != 0 {
			t.Errorf("%+v is sent as %v", v, data[0])
		}
		if data := text.texts([]store.Value{store.OfText("")}); data[0] == nil {
			t.Error("an empty text is sent as a null")
		}
	}
	db := openBank(t, target(t))
	defer db.Close()
	take := func(token string) error {
		return db.TakeLease(t.Context(), store.Holder{Token: token, Run: token}, time.Hour, "")
	}
	expect.NoError(t, take("one"))
	exec(t, admin(t), `UPDATE assay_bank.assay_lease SET token = ''`) // as earlier versions left it
	expect.NoError(t, take("two"))
	lease, err := db.Lease(t.Context())
	if err != nil || lease == nil || lease.Holder.Token != "two" {
		t.Errorf("%+v, %v", lease, err)
	}
	exec(t, admin(t), `DROP SCHEMA assay_bank CASCADE`)
}

func TestBigintArray(t *testing.T) {
	conn := admin(t)
	for sql, want := range map[string][]int64{
		`'{}'::bigint[]`:  {},
		`'{7}'::bigint[]`: {7},
		`'[5:7]={1,-2,9223372036854775807}'::bigint[]`: {1, -2, 1<<63 - 1},
	} {
		result := conn.PgConn().ExecParams(context.Background(), `SELECT `+sql, nil, nil, nil, []int16{binaryFormat}).Read()
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		got, err := bigintArray(result.Rows[0][0], []int64{42})
		if err != nil || !slices.Equal(got, append([]int64{42}, want...)) {
			t.Errorf("%s: %v, %v", sql, got, err)
		}
	}
	for _, sql := range []string{`'{{1},{2}}'::bigint[]`, `'{1,null}'::bigint[]`, `'{1}'::int[]`, `null::bigint[]`, `'abc'::bytea`} {
		result := conn.PgConn().ExecParams(context.Background(), `SELECT `+sql, nil, nil, nil, []int16{binaryFormat}).Read()
		if result.Err != nil {
			t.Fatal(result.Err)
		}
		if got, err := bigintArray(result.Rows[0][0], nil); err == nil {
			t.Errorf("%s passes for %v", sql, got)
		}
	}
	want := []int64{1, -1, 1 << 62}
	result := conn.PgConn().ExecParams(context.Background(), `SELECT $1::bigint[]::text`, [][]byte{appendArray(nil, want)},
		[]uint32{oidBigintArray}, []int16{binaryFormat}, nil).Read()
	if result.Err != nil || string(result.Rows[0][0]) != "{1,-1,4611686018427387904}" {
		t.Errorf("the server takes it for %s, %v", result.Rows, result.Err)
	}
	if got, err := bigintArray(appendArray(nil, want), nil); err != nil || !slices.Equal(got, want) {
		t.Errorf("back and forth: %v, %v", got, err)
	}
}

func FuzzBigintArray(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, arrayPrefix))
	f.Add(appendArray(nil, []int64{1, 2}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if elements, err := bigintArray(data, nil); err == nil && len(elements) > len(data)/elementBytes {
			t.Errorf("%d elements out of %d bytes", len(elements), len(data))
		}
	})
}
