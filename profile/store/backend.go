package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"gorm.io/gorm"

	"knee/data"
)

// backend holds what differs between databases; see backends.
type backend struct {
	// open makes the connection; beside resolves a path relative to the study file.
	open func(a address, beside func(string) string) (gorm.Dialector, error)
	// now is the SQL of the database's clock, in seconds: hosts' clocks may differ.
	now string
	// up is the SQL of its start, before which no heartbeat could arrive; perhaps empty.
	up string
	// lock and unlock are SQL that serialises making tables; empty if transactions do.
	lock, unlock string
	// temporary reports whether a retry may succeed.
	temporary func(error) bool
	// single allows one connection only.
	single bool
}

// backends is the registry, by the scheme of the address.
func backends() map[string]backend {
	postgres := backend{
		open:      openPostgres,
		now:       "extract(epoch from clock_timestamp())::float8",
		up:        "extract(epoch from pg_postmaster_start_time())::float8",
		lock:      "SELECT pg_advisory_xact_lock(5270361)", // an arbitrary number
		temporary: postgresTemporary,
	}
	return map[string]backend{
		"postgres": postgres, "postgresql": postgres,
		"sqlite": {
			open:      openSQLite,
			now:       "((julianday('now') - 2440587.5) * 86400.0)",
			temporary: sqliteTemporary,
			single:    true,
		},
		"mysql": {
			open:      openMySQL,
			now:       "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) / 1e6",
			lock:      "SELECT GET_LOCK('knee', 30)",
			unlock:    "SELECT RELEASE_LOCK('knee')",
			temporary: mysqlTemporary,
		},
	}
}

// connectionLost reports whether an error is of the connection, not of a query.
func connectionLost(err error) bool {
	_, ok := errors.AsType[net.Error](err)
	lost := []error{driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, context.DeadlineExceeded}
	return ok || slices.ContainsFunc(lost, func(is error) bool { return errors.Is(err, is) })
}

// address is the storage of a study, taken apart.
type address struct {
	backend backend
	text    string   // without the name of the study
	url     *url.URL // nil for a file
	study   string   // name of the study in the database; empty for its job
	label   string   // for people, without a password
	secrets []string
}

// parseAddress reads sqlite:PATH, postgres://… or mysql://…, each with an optional #NAME of
// the study. Errors do not repeat the address, which may hold a password.
func parseAddress(s *data.Study) (address, error) {
	scheme, _, _ := strings.Cut(s.Storage, ":")
	d, ok := backends()[scheme]
	if !ok {
		return address{}, &data.InputError{Source: storageSource(s), Found: "an unknown kind of storage",
			Want: "journal, or an address that begins with one of " + strings.Join(slices.Sorted(maps.Keys(backends())), ", ")}
	}
	bare, name, _ := strings.Cut(s.Storage, "#")
	a := address{backend: d, text: bare, study: name, label: bare}
	if scheme == "sqlite" {
		return a, nil
	}
	var err error
	if a.url, err = url.Parse(bare); err != nil {
		return address{}, &data.InputError{Source: storageSource(s), Found: "an address that is not a URL",
			Want: scheme + "://USER@HOST:PORT/DATABASE, special characters of a password written as %40"}
	}
	a.hide()
	return a, nil
}

// hide sets secrets, and label to the address without them.
func (a *address) hide() {
	if p, ok := a.url.User.Password(); ok {
		a.secrets = append(a.secrets, p, url.QueryEscape(p), url.PathEscape(p))
		// As written, which may be neither of the two escaped forms.
		_, raw, _ := strings.Cut(strings.TrimPrefix(a.text, a.url.Scheme+"://"), ":")
		if at := strings.LastIndex(raw, "@"); at > 0 {
			a.secrets = append(a.secrets, raw[:at])
		}
	}
	shown := *a.url
	query := shown.Query()
	for key, values := range query {
		if strings.Contains(strings.ToLower(key), "password") {
			a.secrets = append(a.secrets, values...)
			query.Set(key, "xxxxx")
		}
	}
	shown.RawQuery = query.Encode()
	a.label = shown.Redacted()
	a.secrets = slices.DeleteFunc(a.secrets, func(s string) bool { return s == "" })
}

func (a *address) clean(text string) string {
	for _, s := range a.secrets {
		text = strings.ReplaceAll(text, s, "xxxxx")
	}
	return text
}

// storageError is an error of a storage, without a password.
type storageError struct {
	text string
	is   error // one of the errors of this package, or nil
}

func (e *storageError) Error() string { return e.text }
func (e *storageError) Unwrap() error { return e.is }

// wrap adds the storage and the action to an error, except to an InputError.
func (a *address) wrap(doing string, err error, is error) error {
	if _, ok := errors.AsType[*data.InputError](err); ok {
		return err
	}
	line := strings.Join(strings.Fields(err.Error()), " ") // drivers add lists of attempts
	return &storageError{a.clean("storage " + a.label + ": " + doing + ": " + line), is}
}
