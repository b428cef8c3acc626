package data_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/data"
)

func TestWriteFileAndOpen(t *testing.T) {
	const text = "job,workers,step_time_s\na,1,0.5\n"
	for _, name := range []string{"m.csv", "m.csv.gz"} {
		path := filepath.Join(t.TempDir(), name)
		err := data.WriteFile(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if compressed := strings.HasPrefix(string(raw), "\x1f\x8b"); compressed != strings.HasSuffix(name, ".gz") {
			t.Errorf("%s: compressed is %v", name, compressed)
		}
		ms, _, err := data.LoadMeasurements(path)
		if err != nil || len(ms) != 1 || ms[0].Source.File != path {
			t.Errorf("%s: %v, %v", name, ms, err)
		}
		// Gzip data is known by its content, so a renamed file reads as well.
		renamed := path + ".bak"
		if err := os.Rename(path, renamed); err != nil {
			t.Fatal(err)
		}
		if ms, _, err := data.LoadMeasurements(renamed); err != nil || len(ms) != 1 {
			t.Errorf("%s renamed: %v, %v", name, ms, err)
		}
	}
}

// A failing writer leaves the old file as it was and nothing beside it.
func TestWriteFileKeepsOldOnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "plan.json")
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	err := data.WriteFile(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want the error of the writer and the path", err)
	}
	if text, err := os.ReadFile(path); string(text) != "old" || err != nil {
		t.Errorf("file holds %q, %v", text, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestWriteFileFollowsLinksAndKeepsMode(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", link); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
	if err := data.WriteFile(link, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() != 3 {
		t.Errorf("target: %v, %v", info, err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("link: %v, %v", info, err)
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.csv")
	if _, err := data.Open(missing); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := data.Open(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("folder: %v", err)
	}
	plain := filepath.Join(dir, "plain.gz")
	if err := os.WriteFile(plain, []byte("job"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := plain + ": found something else, want gzip data, as the name ends in .gz"
	if _, err := data.Open(plain); err == nil || err.Error() != want {
		t.Errorf("plain text called .gz: %v, want %s", err, want)
	}
	cut := filepath.Join(dir, "cut.csv")
	if err := os.WriteFile(cut, []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xffgarbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := data.LoadMeasurements(cut); err == nil || !strings.Contains(err.Error(), cut) {
		t.Errorf("damaged gzip: %v", err)
	}
	missing = filepath.Join(dir, "no", "x")
	err := data.WriteFile(missing, func(io.Writer) error { return nil })
	if !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), ".x.") || !strings.Contains(err.Error(), missing) {
		t.Errorf("write to a folder that is not there: %v", err) // the temporary file has another name
	}
	if err := data.WriteFile("-", func(io.Writer) error { return nil }); err == nil {
		t.Error(`"-" became a file`)
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("job,workers,step_time_s\n"))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x00\x00\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte{0x1f})
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := data.Open(path)
		if err != nil {
			return
		}
		got, err := io.ReadAll(r)
		if err == nil && content != nil && !strings.HasPrefix(string(content), "\x1f\x8b") && string(got) != string(content) {
			t.Errorf("read %q, want %q", got, content)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}
