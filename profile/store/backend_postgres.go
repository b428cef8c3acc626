package store

import (
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

// openPostgres opens a libpq URL. Text is UTF-8 whatever the database's encoding. Connecting
// times out after ten seconds unless the address says otherwise.
func openPostgres(a address, _ func(string) string) (gorm.Dialector, error) {
	u := *a.url
	q := u.Query()
	for name, value := range map[string]string{"connect_timeout": "10", "application_name": "knee", "client_encoding": "UTF8"} {
		if !q.Has(name) {
			q.Set(name, value)
		}
	}
	u.RawQuery = q.Encode()
	return postgres.Open(u.String()), nil
}

// postgresTemporary goes by the class of the SQLSTATE (PostgreSQL, appendix A): connection
// exception, transaction rollback, insufficient resources, object not in the required state,
// operator intervention, system error; or no connection.
func postgresTemporary(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		var connect *pgconn.ConnectError
		return errors.As(err, &connect) || pgconn.SafeToRetry(err) || connectionLost(err)
	}
	return slices.ContainsFunc([]string{"08", "40", "53", "55", "57", "58"}, func(class string) bool { return strings.HasPrefix(e.Code, class) })
}
