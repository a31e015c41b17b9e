package drivertest

import (
	"context"
	"path/filepath"
	"testing"

	"assay/history"
	"assay/workload/candles"
)

// JudgeCandles does the rounds of a run on the store, one operation after the
// other, and judges its files.
func JudgeCandles(ctx context.Context, t testing.TB, store candles.Store, config candles.Config, seed uint64) candles.Judgement {
	t.Helper()
	w, err := candles.NewWork(ctx, store, config, seed, 2)
	if err != nil {
		t.Fatal(err)
	}
	folder, recorded := carryOut(ctx, t, "candles", w, func(writer *history.Writer) error { return workCandles(ctx, w, writer) })
	j, err := candles.Judge(config, seed, candles.Evidence{History: recorded, State: filepath.Join(folder, candles.FileState)})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func workCandles(ctx context.Context, w *candles.Work, writer *history.Writer) error {
	now, first := sinceNow(), 0
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
				op := history.Op{Client: number, Seq: seq, Attempt: 1, Last: true, Start: now()}
				attemptBy(client)(ctx, &op)
				op.Due, op.First, op.End, op.Final = op.Start, op.Start, now(), op.Outcome
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
