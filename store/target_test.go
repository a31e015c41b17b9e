package store

import (
	"slices"
	"testing"
)

// TestChangedSettings: what is of the place alone, or may be secret, is not kept.
func TestChangedSettings(t *testing.T) {
	got := Changed(map[string]string{"shared_buffers": "16MB", "port": "5433", "innodb_log_file_size": "96M", "ssl_passphrase_command": "cat x", "primary_conninfo": "password=x",
		"net.tls.certificateKeyFilePassword": "x", "log_min_messages": "debug", "innodb_flush_log_at_trx_commit": "2", "data_directory": "/x", "storage.dbPath": "/x", "setParameter.a": "1"})
	want := []Setting{{"innodb_flush_log_at_trx_commit", "2"}, {"innodb_log_file_size", "96M"}, {"setParameter.a", "1"}, {"shared_buffers", "16MB"}}
	if !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if Changed(nil) == nil {
		t.Error("a server that told of nothing is one that did not tell")
	}
}
