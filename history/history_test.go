package history

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"assay/internal/expect"
)

func randomOp(r *rand.Rand, client int, seq uint64) Op {
	op := Op{
		Client: client, Seq: seq, Attempt: 1 + r.IntN(3), Last: r.IntN(4) > 0, Kind: uint8(r.IntN(3)),
		Outcome: Outcome(r.IntN(4)), Final: Outcome(r.IntN(4)), Start: r.Int64N(1e12),
	}
	op.End = op.Start + r.Int64N(1e9)
	op.First = op.Start - r.Int64N(2)*r.Int64N(1e6)
	op.Due = op.First - r.Int64N(2)*r.Int64N(1e6)
	if r.IntN(3) == 0 {
		op.Error = []string{"deadlock", "timeout", "connection lost"}[r.IntN(3)]
	}
	for range r.IntN(5) {
		op.Values = append(op.Values, r.Int64()-r.Int64())
	}
	return op
}

type record struct {
	ops          []Op
	reservations []Reservation
	events       []Event
	header       Header
}

func readAll(t *testing.T, path string) (record, Ending, error) {
	t.Helper()
	var got record
	ending, err := Read(path, Visitor{
		Header: func(h Header) error { got.header = h; return nil },
		Op: func(op *Op) error {
			kept := *op
			kept.Values = append([]int64(nil), op.Values...)
			got.ops = append(got.ops, kept)
			return nil
		},
		Reservation: func(r Reservation) error { got.reservations = append(got.reservations, r); return nil },
		Event:       func(e Event) error { got.events = append(got.events, e); return nil },
	})
	return got, ending, err
}

func write(t *testing.T, path string, want record) {
	t.Helper()
	w, err := Create(path, want.header)
	expect.NoError(t, err)
	for _, r := range want.reservations {
		expect.NoError(t, w.Reserve(r))
	}
	for i := range want.ops {
		expect.NoError(t, w.Record(&want.ops[i]))
		if i%100 == 99 { // several frames
			expect.NoError(t, w.Flush())
		}
	}
	for _, e := range want.events {
		expect.NoError(t, w.Mark(e))
	}
	expect.NoError(t, w.Close())
}

func sample(n int) record {
	r := rand.New(rand.NewPCG(1, 2))
	want := record{
		header:       Header{Run: "r1", Workload: "bank", Version: "test", Started: 12345},
		reservations: []Reservation{{Client: 0, UpTo: 1024}, {Client: 9999, UpTo: 1 << 40}},
		events:       []Event{{At: 5, Name: EventMeasureStart}, {At: 9, Name: EventCut, Detail: "a \"word\""}},
	}
	for seq := range n {
		want.ops = append(want.ops, randomOp(r, r.IntN(10_000), uint64(seq)))
	}
	return want
}

func TestRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.bin")
	want := sample(2000)
	write(t, path, want)
	got, ending, err := readAll(t, path)
	if err != nil || !ending.Whole || ending.Ops != 2000 {
		t.Fatalf("ending %+v, %v", ending, err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Fatal("what was read is not what was written")
	}
}

// Without a function for attempts, a reading finds the same except for them.
func TestAttemptsThatArePassedOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	want := sample(3000)
	write(t, path, want)
	whole, all, err := readAll(t, path)
	expect.NoError(t, err)
	var got record
	ending, err := Read(path, Visitor{
		Header:      func(h Header) error { got.header = h; return nil },
		Reservation: func(r Reservation) error { got.reservations = append(got.reservations, r); return nil },
		Event:       func(e Event) error { got.events = append(got.events, e); return nil },
	})
	expect.NoError(t, err)
	if whole.ops = nil; ending != all || !reflect.DeepEqual(got, whole) {
		t.Errorf("%+v with %+v, want %+v with %+v", ending, got, all, whole)
	}
	var last int64
	for _, op := range want.ops {
		last = max(last, op.End)
	}
	if ending.Last != last || ending.Ops != 3000 {
		t.Errorf("%d attempts until %d, want %d", ending.Ops, ending.Last, last)
	}
	n := 0
	_, err = Read(path, Visitor{Bare: true, Op: func(op *Op) error {
		bare := want.ops[n]
		if bare.Values = op.Values; len(op.Values) > 0 || !reflect.DeepEqual(*op, bare) {
			t.Fatalf("attempt %d is %+v, want %+v", n, *op, bare)
		}
		n++
		return nil
	}})
	if err != nil || n != len(want.ops) {
		t.Errorf("%d bare attempts, %v", n, err)
	}
}

// A killed process leaves any prefix of the file. Each must be readable, give a prefix of what was
// written, and say that it is not whole.
func TestEveryPrefixIsReadable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "h.bin")
	want := sample(40)
	write(t, path, want)
	whole, err := os.ReadFile(path)
	expect.NoError(t, err)
	headerEnd := 0
	for cut := len(whole) - 1; cut >= 0; cut-- {
		short := filepath.Join(dir, "cut.bin")
		expect.NoError(t, os.WriteFile(short, whole[:cut], 0o644))
		got, ending, err := readAll(t, short)
		if err != nil {
			var bad *FormatError
			if !errors.As(err, &bad) {
				t.Fatalf("cut at %d: %v", cut, err)
			}
			headerEnd = max(headerEnd, cut)
			continue
		}
		if ending.Whole {
			t.Fatalf("cut at %d of %d was called whole", cut, len(whole))
		}
		if len(got.ops) > 0 && !reflect.DeepEqual(got.ops, want.ops[:len(got.ops)]) {
			t.Fatalf("cut at %d: not a prefix", cut)
		}
	}
	if headerEnd > 200 {
		t.Errorf("a prefix of %d bytes was refused; only a missing header may be", headerEnd)
	}
}

// A changed bit anywhere, lengths and the last frame included, is never taken for the end that a
// killed process leaves.
func TestDamageIsNoCutTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.bin")
	write(t, path, sample(20))
	data, err := os.ReadFile(path)
	expect.NoError(t, err)
	for bit := 0; bit < len(data)*8; bit += 3 { // every byte, in turn each of its bits
		data[bit/8] ^= 1 << (bit % 8)
		expect.NoError(t, os.WriteFile(path, data, 0o644))
		var bad *FormatError
		if _, ending, err := readAll(t, path); !errors.As(err, &bad) {
			t.Fatalf("bit %d of byte %d: %+v, %v", bit%8, bit/8, ending, err)
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
}

func TestOlderFormIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.bin")
	expect.NoError(t, os.WriteFile(path, []byte("ASSAYH01 and more"), 0o644))
	var bad *FormatError
	if _, err := Read(path, Visitor{}); !errors.As(err, &bad) || !strings.Contains(err.Error(), `version "01" of its form`) {
		t.Errorf("got %v", err)
	}
}

func TestConcurrentWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.bin")
	w, err := Create(path, Header{Run: "r"})
	expect.NoError(t, err)
	const clients, each = 8, 5000
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for seq := range uint64(each) {
				if seq%1000 == 0 {
					if err := w.Reserve(Reservation{Client: client, UpTo: seq + 1000}); err != nil {
						t.Error(err)
					}
				}
				op := Op{Client: client, Seq: seq, Attempt: 1, Last: true, Error: "e", Values: []int64{1, 2, 3, 4}}
				if err := w.Record(&op); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	expect.NoError(t, w.Close())
	next, reserved := make([]uint64, clients), make([]uint64, clients)
	ending, err := Read(path, Visitor{
		Op: func(op *Op) error {
			if op.Seq != next[op.Client] || op.Seq >= reserved[op.Client] || op.Error != "e" || len(op.Values) != 4 {
				t.Fatalf("client %d: op %d where %d was due, reserved %d", op.Client, op.Seq, next[op.Client], reserved[op.Client])
			}
			next[op.Client]++
			return nil
		},
		Reservation: func(r Reservation) error { reserved[r.Client] = r.UpTo; return nil },
	})
	if err != nil || !ending.Whole || ending.Ops != clients*each {
		t.Fatalf("%+v %v", ending, err)
	}
}

func TestErrorClassesAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h.bin")
	w, err := Create(path, Header{})
	expect.NoError(t, err)
	for i := range maxClasses + 100 {
		op := Op{Seq: uint64(i), Attempt: 1, Error: string(rune(0x4e00 + i))}
		expect.NoError(t, w.Record(&op))
	}
	expect.NoError(t, w.Close())
	got, _, err := readAll(t, path)
	if err != nil || len(got.ops) != maxClasses+100 {
		t.Fatalf("%d ops, %v", len(got.ops), err)
	}
	if last := got.ops[len(got.ops)-1].Error; last != manyClasses {
		t.Errorf("the class beyond the bound is %q", last)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "h.bin")
	if _, err := Create(filepath.Join(dir, "no", "h.bin"), Header{}); err == nil {
		t.Error("a file in a missing folder was created")
	}
	w, err := Create(path, Header{})
	expect.NoError(t, err)
	if err := w.Record(&Op{Attempt: 1, Values: make([]int64, MaxValues+1)}); err == nil {
		t.Error("too many values were recorded")
	}
	var failed *WriteError
	if _, err := Create(path, Header{}); !errors.As(err, &failed) || !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second history in the same file: %v", err)
	}
	// After the disk failed, every later call says so.
	expect.NoError(t, w.file.file.Close())
	if err := w.Reserve(Reservation{}); !errors.As(err, &failed) {
		t.Errorf("a failed write gave %v", err)
	}
	if err := w.Record(&Op{Attempt: 1}); !errors.As(err, &failed) {
		t.Errorf("recording after a failed write gave %v", err)
	}
	if err := w.Close(); !errors.As(err, &failed) {
		t.Errorf("closing after a failed write gave %v", err)
	}
}

func TestOutcomeThen(t *testing.T) {
	outcomes := []Outcome{Unknown, Committed, Rejected, Failed}
	for _, a := range outcomes {
		for _, b := range outcomes {
			got := a.Then(b)
			want := b
			if a == Committed || b == Committed {
				want = Committed
			} else if a == Unknown || b == Unknown {
				want = Unknown
			}
			if got != want {
				t.Errorf("%v then %v is %v, want %v", a, b, got, want)
			}
		}
	}
	if (Op{}).Outcome != Unknown {
		t.Error("the zero outcome must be unknown")
	}
}

func FuzzRead(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed.bin")
	w, err := Create(path, Header{Run: "r"})
	if err != nil {
		f.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for seq := range uint64(20) {
		op := randomOp(r, 1, seq)
		if err := w.Record(&op); err != nil {
			f.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	frames, err := OpenFrames(path, magic)
	if err != nil {
		f.Fatal(err)
	}
	for {
		payload, err := frames.ReadFrame()
		if err != nil {
			break
		}
		f.Add(append([]byte(nil), payload...))
	}
	if err := frames.Close(); err != nil {
		f.Fatal(err)
	}
	// The checksum would stop a fuzzer, so it varies the payload.
	f.Fuzz(func(t *testing.T, payload []byte) {
		if len(payload) > MaxFrame {
			return
		}
		path := filepath.Join(t.TempDir(), "f.bin")
		w, err := CreateFrames(path, magic)
		expect.NoError(t, err)
		expect.NoError(t, errors.Join(w.WriteFrame(payload), w.Close()))
		_, err = Read(path, Visitor{Op: func(op *Op) error {
			if op.Client < 0 || op.Attempt < 1 || len(op.Values) > MaxValues {
				t.Errorf("an impossible op was read: %+v", op)
			}
			return nil
		}})
		var bad *FormatError
		if err != nil && !errors.As(err, &bad) {
			t.Errorf("an error of another kind: %v", err)
		}
	})
}
