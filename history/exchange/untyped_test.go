package exchange

import (
	"io"
	"strings"
	"testing"

	"assay/internal/expect"
)

// The operations decide how a history is read, even if the first ones fit several kinds.
func TestHowAHistoryIsRead(t *testing.T) {
	const (
		read  = `{:process 0, :type :invoke, :f :read} `
		keyed = `{:process 0, :type :invoke, :f :read, :value [7 nil]} `
		write = `{:process 1, :type :invoke, :f :write, :value 1} `
	)
	for _, c := range []struct {
		text string
		want Kind
	}{
		{read + `{:process 0, :type :ok, :f :read, :value 3} {:process 0, :type :invoke, :f :add, :value 3}`, AsWritten},
		{read + `{:process 0, :type :ok, :f :read, :value [3 4]} {:process 0, :type :invoke, :f :add, :value 3}`, AsWritten},
		{read + `{:process 0, :type :ok, :f :read, :value [3 4]} {:process 0, :type :invoke, :f :transfer, :value {:from 1 :to 2 :amount 3}}`, Bank},
		{read + `{:process 0, :type :ok, :f :read, :value {3 4}}`, Bank},
		{read + `{:process 0, :type :ok, :f :read, :value 3}`, Register},
		{write + read + `{:process 0, :type :ok, :f :read, :value 3}`, Register},
		{write + read + `{:process 0, :type :ok, :f :read, :value [3 [1 2]]}`, AsWritten},
		{write + read + `{:process 0, :type :ok, :f :read, :value #{1 2 3}}`, AsWritten},
		{`{:process 0, :type :invoke, :f :write, :value [4 1]} {:process 1, :type :invoke, :f :read, :value [4 nil]} {:process 1, :type :ok, :f :read, :value [4 1]}`, Register},
		{`{:process 0, :type :invoke, :f :write, :value [[:w 4 1]]}`, AsWritten},
		{`{:process 0, :type :invoke, :f :txn, :value [[:w 4 1]]}`, ReadWrite},
		{`{:process 0, :type :invoke, :f :txn, :value [[:poll]]}`, AsWritten},
		{`{:process 0, :type :invoke, :f :txn, :value []} {:process 1, :type :invoke, :f :txn, :value [[:send 1 2]]}`, AsWritten},
		{`{:process 0, :type :invoke, :f :txn, :value [7 [[:w 4 1]]]}`, ReadWrite},
		{`{:process 0, :type :invoke, :f :txn, :value [7 [[:write 4 1]]]}`, AsWritten},
		{read + `{:process 0, :type :ok, :f :read, :value [7 3]} {:process 0, :type :invoke, :f :write, :value [7 4]}`, Register},
		{read + `{:process 0, :type :ok, :f :read, :value [:a nil]} {:process 0, :type :invoke, :f :cas, :value [:a [3 4]]}`, Register},
		{`{:process 1, :type :invoke, :f :write, :value [7 4]}` + read + `{:process 0, :type :ok, :f :read, :value [7 3]}`, Register},
		{keyed + `{:process 0, :type :ok, :f :read, :value [7 {3 4}]}`, Bank},
		{keyed + `{:process 0, :type :ok, :f :read, :value [7 [3 4]]} {:process 0, :type :invoke, :f :transfer, :value [7 {:from 1 :to 2 :amount 3}]}`, Bank},
		{keyed + `{:process 0, :type :ok, :f :read, :value [7 []]} {:process 0, :type :invoke, :f :add, :value [7 3]}`, AsWritten},
		{keyed + `{:process 0, :type :ok, :f :read, :value [7 [nil :a]]}`, AsWritten},
	} {
		r, err := NewReader(strings.NewReader(c.text))
		expect.NoError(t, err)
		if got, err := r.Decide(); err != nil || got != c.want {
			t.Errorf("%v (%v), want %v: %s", got, err, c.want, c.text)
		}
	}
}

func TestValuesAsWritten(t *testing.T) {
	const text = `{:process 0, :type :invoke, :f :read, :value [:k nil]}
{:process 0, :type :ok, :f :read, :value [:k {"a" #{1 2.5}, :b (x)}], :position 7, :link :init}
{:process 0, :type :invoke, :f :write, :value 1}`
	r, err := NewReader(strings.NewReader(text))
	expect.NoError(t, err)
	r.Untyped()
	op, err := r.Next()
	if err != nil || op.Word != "read" || op.Request.String() != "[:k nil]" || op.Answer.String() != `[:k {"a" #{1 2.5} :b [x]}]` ||
		op.Position.String() != "7" || op.Link.Word() != "init" {
		t.Errorf("%v %+v", err, op)
	}
	_, second, _ := op.Answer.Pair()
	if b := second.Field("b"); b == nil || b.Items[0].Form != Inexact || second.Field("c") != nil {
		t.Errorf("%v", b)
	}
	if op, err = r.Next(); err != nil || op.Word != "write" || op.Request.String() != "1" || !op.Answer.IsNil() {
		t.Errorf("%v %+v", err, op)
	}
	if _, err = r.Next(); err != io.EOF {
		t.Error(err)
	}
}
