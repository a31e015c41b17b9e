package postgres

import (
	"context"
	"slices"
	"testing"
)

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
