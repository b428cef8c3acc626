package store

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// openMySQL opens mysql://USER:PASSWORD@HOST:PORT/DATABASE. ?socket=PATH
// connects through a socket, other parameters are those of the driver.
func openMySQL(a address, _ func(string) string) (gorm.Dialector, error) {
	u, c := a.url, driver.NewConfig()
	c.User = u.User.Username()
	c.Passwd, _ = u.User.Password()
	c.Net, c.Addr = "tcp", net.JoinHostPort(u.Hostname(), "3306")
	if u.Port() != "" {
		c.Addr = u.Host
	}
	q := u.Query()
	if socket := q.Get("socket"); socket != "" {
		c.Net, c.Addr = "unix", socket
		q.Del("socket")
	}
	c.DBName = strings.TrimPrefix(u.Path, "/")
	if c.DBName == "" {
		return nil, errors.New("found no database, want mysql://USER@HOST:PORT/DATABASE")
	}
	c.ParseTime, c.Timeout = true, 10*time.Second
	dsn := c.FormatDSN()
	if extra := q.Encode(); extra != "" {
		dsn += "&" + extra
	}
	if _, err := driver.ParseDSN(dsn); err != nil {
		return nil, fmt.Errorf("found parameters that the driver does not accept: %w", err)
	}
	return mysql.Open(dsn), nil
}

// mysqlTemporary reports too many connections, a server that shuts down, lock waits and deadlocks, a
// full table or disk, a lost connection.
func mysqlTemporary(err error) bool {
	e, ok := errors.AsType[*driver.MySQLError](err)
	if !ok {
		return errors.Is(err, driver.ErrInvalidConn) || connectionLost(err)
	}
	return slices.Contains([]uint16{1021, 1040, 1053, 1077, 1079, 1114, 1203, 1205, 1213, 3024}, e.Number)
}
