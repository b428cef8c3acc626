package profile

import (
	"errors"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// postgresDialect is a PostgreSQL server, for profilers on any number of
// hosts.
func postgresDialect() dialect {
	return dialect{
		open:      openPostgres,
		now:       "extract(epoch from clock_timestamp())::float8",
		up:        "extract(epoch from pg_postmaster_start_time())::float8",
		lock:      "SELECT pg_advisory_xact_lock(5270361)", // "knee" in no one's table of locks
		temporary: postgresTemporary,
	}
}

// openPostgres opens a libpq URL. A host that swallows packets is given up
// after ten seconds unless the address says otherwise.
func openPostgres(address string, _ func(string) string) (gorm.Dialector, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("found an address that is not a URL, want postgres://USER@HOST:PORT/DATABASE")
	}
	q := u.Query()
	if !q.Has("connect_timeout") {
		q.Set("connect_timeout", "10")
	}
	if !q.Has("application_name") {
		q.Set("application_name", "knee")
	}
	u.RawQuery = q.Encode()
	return postgres.Open(u.String()), nil
}

// postgresTemporary tells what passes from what does not by the class of the
// SQLSTATE (PostgreSQL, appendix A): connection exceptions, transactions that
// were rolled back for others, a lack of resources, an operator at work, an
// object in use. An error without one did not come from the server: it was
// not reached.
func postgresTemporary(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return true
	}
	for _, class := range []string{"08", "40", "53", "55", "57", "58"} {
		if strings.HasPrefix(e.Code, class) {
			return true
		}
	}
	return false
}
