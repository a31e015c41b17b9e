package runner

import (
	"context"
	"path/filepath"
	"time"

	"assay/check"
	"assay/history"
	"assay/report"
	"assay/store"
)

// load loads the opening state and writes a first result, which says that the run has not ended.
func (r *run) load(ctx context.Context) error {
	started := time.Now()
	mark := store.Marker{
		Run: r.id, Workload: r.scenario.Workload, Version: r.options.Version,
		Created: started.UTC().Truncate(time.Second), Rows: r.store.Rows(),
	}
	kept := r.scenario
	kept.Database = fromAnywhere(kept.Database)
	if err := writeScenario(filepath.Join(r.folder, FileScenario), kept); err != nil {
		return err
	}
	here := environment(ctx, r.options.Version, r.folder)
	if err := history.WriteJSON(filepath.Join(r.folder, FileEnvironment), here); err != nil {
		return err
	}
	r.result = begin(r.scenario, mark, started)
	r.result.Cluster = r.system.Described
	r.noteExisting()
	if text := r.system.Strangers(ctx); text != "" {
		r.options.Progress.Note(text)
		r.note(text)
	}
	if rounds, several := r.store.Rounds(); several {
		enterPlan(&r.result.Load, rounds)
	}
	if err := writeResult(r.folder, r.result); err != nil {
		return err
	}
	r.options.Monitor.Phase(PhaseLoading)
	progress := &loading{progress: r.options.Progress}
	if !r.scenario.UseExisting {
		r.options.Progress.Stage("loading " + check.Counted(r.store.Rows(), "row", "rows") + r.scenario.faultsText(true))
	}
	var loaded report.Loading
	err := r.store.Create(ctx, mark)
	if err == nil && !r.scenario.UseExisting {
		loaded, err = r.injector().load(ctx, r.store, progress.rows)
	}
	if err != nil {
		return r.interrupted(ctx, err, r.loadingWords(progress))
	}
	if !r.scenario.UseExisting {
		took := time.Since(started).Seconds()
		loaded.Rows, loaded.Seconds, loaded.PerSecond = r.store.Rows(), took, float64(r.store.Rows())/took
		r.result.Loading = loaded
		r.sizeLoaded(ctx)
	}
	product, err := r.store.Describe(ctx)
	if err != nil {
		return r.interrupted(ctx, err, r.loadingWords(progress))
	}
	product.Settings = append(product.Settings, r.system.Started.Failover()...)
	r.system.Started.Loaded(ctx)
	describe(r.result, product, r.address, r.store.Promise())
	r.noteAltering(product)
	r.options.Status.describe(r.result)
	r.system.Describe(&r.result.Database, here.CPUs, here.MemoryBytes)
	return writeResult(r.folder, r.result)
}
