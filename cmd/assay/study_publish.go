package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"assay/report"
	"assay/report/article"
	"assay/runner/study"
)

func nameOf(s *study.Study) string {
	return strings.TrimSuffix(filepath.Base(s.Path), filepath.Ext(s.Path))
}

// mayPublish returns a usageError if --publish would overwrite files that are not this study's.
func (f *studyFlags) mayPublish(s *study.Study) error {
	if f.publish == "" {
		return nil
	}
	a := article.Article{Name: nameOf(s)}
	for _, ending := range []string{".md", ".html"} {
		path := filepath.Join(f.publish, a.Name+ending)
		text, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return usageError{fmt.Errorf("--publish %s: %w", f.publish, err)}
		case !bytes.Contains(text, []byte(a.Origin())):
			return usageError{fmt.Errorf("--publish %s: %s is there and is no article of this study; name another folder, or move the file away", f.publish, path)}
		}
	}
	return nil
}

// writePublished writes the article into --publish, if given, and says where.
func (f *studyFlags) writePublished(out io.Writer, a *article.Article) error {
	if f.publish == "" {
		return nil
	}
	a.ChartPrefix = a.Name + "-"
	if err := os.MkdirAll(f.publish, 0o755); err != nil {
		return fmt.Errorf("make the folder of --publish: %w", err)
	}
	if err := writeArticle(a, f.publish, a.Name+".md", a.Name+".html"); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "published     %s, %s.html\n", filepath.Join(f.publish, a.Name+".md"), a.Name)
	return err
}

// writeArticle writes an article, its page and charts, and removes its obsolete charts.
func writeArticle(a *article.Article, folder, text, page string) error {
	files := a.ChartFiles()
	charts := filepath.Join(folder, report.FolderCharts)
	if len(files) > 0 {
		if err := os.MkdirAll(charts, 0o755); err != nil {
			return fmt.Errorf("make the folder of the charts: %w", err)
		}
	}
	made := map[string]bool{}
	for _, c := range files {
		made[filepath.Base(c.Path)] = true
		if err := writeTo(filepath.Join(folder, filepath.FromSlash(c.Path)), c.Write); err != nil {
			return err
		}
	}
	if err := removeCharts(charts, a.Origin(), made); err != nil {
		return fmt.Errorf("remove the charts of an earlier article: %w", err)
	}
	return errors.Join(writeTo(filepath.Join(folder, text), a.Markdown), writeTo(filepath.Join(folder, page), a.HTML))
}

// removeCharts removes the charts of an origin except those in keep.
func removeCharts(folder, origin string, keep map[string]bool) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if keep[entry.Name()] || filepath.Ext(path) != ".svg" || !entry.Type().IsRegular() {
			continue
		}
		text, problem := os.ReadFile(path)
		if problem == nil && bytes.Contains(text, []byte(origin)) {
			problem = os.Remove(path)
		}
		err = errors.Join(err, problem)
	}
	return err
}
