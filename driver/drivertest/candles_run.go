package drivertest

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"assay/history"
	"assay/workload/candles"
)

// JudgeCandles does the rounds of a run on the store, one operation after the
// other, and judges its files.
func JudgeCandles(ctx context.Context, t testing.TB, store candles.Store, config candles.Config, seed uint64) candles.Judgement {
	t.Helper()
	folder := t.TempDir()
	path := filepath.Join(folder, "history.bin")
	w, err := candles.NewWork(ctx, store, config, seed, 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Create(ctx, candleMark("judged")); err != nil {
		t.Fatal(err)
	}
	writer, err := history.Create(path, history.Header{Run: "judged", Workload: "candles"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(workCandles(ctx, w, writer), writer.Close(), w.Settle(ctx), w.Save(ctx, folder, func(int64) {})); err != nil {
		t.Fatal(err)
	}
	j, err := candles.Judge(config, seed, candles.Evidence{History: path, State: filepath.Join(folder, candles.FileState)})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func workCandles(ctx context.Context, w *candles.Work, writer *history.Writer) error {
	start, first := time.Now(), 0
	for _, round := range w.Rounds() {
		if round.Ready != nil {
			if err := round.Ready(ctx); err != nil {
				return err
			}
		}
		for n := range round.Clients {
			client, err := round.Client(ctx, n)
			if err != nil {
				return err
			}
			number := first + n
			ops := round.Ops / uint64(round.Clients)
			if n == 0 {
				ops = round.Ops - ops*uint64(round.Clients-1)
			}
			if err := writer.Reserve(history.Reservation{Client: number, UpTo: ops}); err != nil {
				return err
			}
			for seq := range ops {
				op := history.Op{Client: number, Seq: seq, Attempt: 1, Last: true, Start: int64(time.Since(start))}
				x := client.Attempt(ctx, seq, 1)
				op.Kind, op.Outcome, op.Final, op.Error, op.Values = x.Kind, x.Outcome, x.Outcome, x.Class, x.Values
				op.Due, op.First, op.End = op.Start, op.Start, int64(time.Since(start))
				if err := writer.Record(&op); err != nil {
					return err
				}
			}
			client.Close()
		}
		first += round.Clients
	}
	return nil
}
