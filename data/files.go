package data

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Open opens a file for reading. "-" is standard input, which Close leaves open. Gzip data
// is decompressed under any name; a name in .gz requires it.
func Open(path string) (io.ReadCloser, error) {
	if path == "-" {
		return decompress(os.Stdin, io.NopCloser(nil), path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err // names the path
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errors.Join(&InputError{Source: Source{File: path}, Found: "a folder", Want: "a file"}, f.Close())
	}
	r, err := decompress(f, f, path)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// maxDecompressed bounds what gzip data expands to, in bytes; the ratio can reach 1000.
const maxDecompressed = 1 << 30

// decompressed reads gzip data. Damaged or too large data is an [*InputError].
type decompressed struct {
	io.Closer
	gzip *gzip.Reader
	path string
	left int
}

func (d *decompressed) Read(p []byte) (int, error) {
	n, err := d.gzip.Read(p)
	var corrupt flate.CorruptInputError
	d.left -= n
	switch {
	case d.left < 0:
		return 0, &InputError{Source: Source{File: d.path}, Found: "more when decompressed", Want: "at most " + FormatQuantity(maxDecompressed)}
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, io.ErrUnexpectedEOF):
		return n, &InputError{Source: Source{File: d.path}, Found: "damaged gzip data (" + err.Error() + ")", Want: "the whole file"}
	}
	return n, err
}

func decompress(r io.Reader, c io.Closer, path string) (io.ReadCloser, error) {
	b := bufio.NewReader(r)
	magic, err := b.Peek(2)
	switch {
	case err != nil && err != io.EOF:
		return nil, ReadError(path, err)
	case string(magic) == "\x1f\x8b":
		zr, err := gzip.NewReader(b)
		if err != nil {
			return nil, notGzip(path)
		}
		return &decompressed{Closer: c, gzip: zr, path: path, left: maxDecompressed}, nil
	case strings.HasSuffix(path, ".gz"):
		return nil, notGzip(path)
	}
	return struct {
		io.Reader
		io.Closer
	}{b, c}, nil
}

// maxDocument bounds YAML and JSON files, in bytes: they are held in memory.
const maxDocument = 64 << 20

// Load opens the file at path and calls read, such as [ReadPlan]; see [Open].
func Load[T any](path string, read func(io.Reader, string) (T, error)) (v T, err error) {
	f, err := Open(path)
	if err != nil {
		return v, err
	}
	defer f.Close()
	return read(f, path)
}

// LoadRows is [EachRow] on the file at path.
func LoadRows(path string, columns []string, do func(*Row) error) error {
	_, err := Load(path, func(r io.Reader, name string) (struct{}, error) {
		return struct{}{}, EachRow(r, name, columns, do)
	})
	return err
}

// LoadTable is [Load] for readers with warnings, such as [ReadCurve].
func LoadTable[T any](path string, read func(io.Reader, string) (T, []string, error)) (v T, warnings []string, err error) {
	v, err = Load(path, func(r io.Reader, name string) (v T, err error) {
		v, warnings, err = read(r, name)
		return v, err
	})
	return v, warnings, err
}

// ReadFile reads a file through [Open]; more than 256 MiB is an [*InputError].
func ReadFile(path string) ([]byte, error) {
	return Load(path, func(r io.Reader, name string) ([]byte, error) { return readDocument(r, name, 256<<20) })
}

func readDocument(r io.Reader, name string, most int) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return nil, ReadError(name, err)
	}
	if len(text) > most {
		return nil, &InputError{Source: Source{File: name}, Found: "more", Want: "a file of at most " + FormatQuantity(int64(most))}
	}
	return text, nil
}

// ReadError adds the name of a file to an error of reading it, unless it has one.
func ReadError(name string, err error) error {
	var input *InputError
	if err == nil || errors.As(err, &input) {
		return err
	}
	return fmt.Errorf("read %s: %w", name, err)
}

func notGzip(path string) error {
	return &InputError{Source: Source{File: path}, Found: "something else", Want: "gzip data, as the name ends in .gz"}
}

// WriteFile calls write with a writer to the file at path, which appears under its name
// only once it is complete and on disk: a temporary file beside it is renamed. A name in
// .gz is compressed. A device or pipe is written to directly. Errors name the path.
func WriteFile(path string, write func(io.Writer) error) error {
	if path == "-" {
		return &InputError{Source: Source{File: path}, Found: "standard output", Want: "the name of a file"}
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // replace what a link points to, not the link
	}
	mode := fs.FileMode(0o666) // less what the umask takes away
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode()
	}
	var text bytes.Buffer
	var err error
	if strings.HasSuffix(path, ".gz") {
		zw := gzip.NewWriter(&text) // writes no time stamp: same data, same bytes
		err = cmp.Or(write(zw), zw.Close())
	} else {
		err = write(&text)
	}
	switch {
	case err != nil:
	case !mode.IsRegular():
		err = cause(os.WriteFile(path, text.Bytes(), 0))
	default:
		err = cause(replace(path, mode, text.Bytes()))
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// cause returns an error of the file system without the name of the temporary file.
func cause(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	if of, ok := errors.AsType[*os.LinkError](err); ok {
		return of.Err
	}
	return err
}

func replace(path string, mode fs.FileMode, text []byte) error {
	dir, base := filepath.Split(path)
	name := filepath.Join(dir, fmt.Sprintf(".%s.%x.tmp", base, rand.Uint64()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode) // os.CreateTemp would ignore the umask
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = cmp.Or(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		_ = os.Remove(name)
	}
	SyncFolder(filepath.Dir(path))
	return err
}

// SyncFolder makes a new name survive a power cut, where the file system supports it.
func SyncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

// CheckVersion returns an [*InputError] unless 1 ≤ got ≤ newest; kind is "plan" or "model".
func CheckVersion(kind, file string, got, newest int) error {
	bad := &InputError{Source: Source{File: file, Column: "version"}}
	switch {
	case got < 1:
		bad.Found, bad.Want = fmt.Sprint(got), fmt.Sprintf("the version of the %s, from 1 to %d", kind, newest)
	case got > newest:
		bad.Found = fmt.Sprintf("a %s of version %d, written by a newer build", kind, got)
		bad.Want = fmt.Sprintf("version %d or older, the newest this build reads", newest)
	default:
		return nil
	}
	return bad
}
