package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// StatusError is an answer of the API server other than success.
type StatusError struct {
	Method, Path string
	Code         int    // HTTP status code
	Reason       string // "NotFound", "Forbidden", …; empty if the server gave none
	Message      string // the server's own words
	RetryAfter   time.Duration
}

// Error implements error.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %s (%d %s)", e.Method, e.Path, e.Message, e.Code, http.StatusText(e.Code))
}

// IsNotFound reports whether err says that the object is not there.
func IsNotFound(err error) bool { return hasCode(err, http.StatusNotFound) }

// IsConflict reports whether err says that an object of the name is there
// already, or was changed by someone else.
func IsConflict(err error) bool { return hasCode(err, http.StatusConflict) }

// isGone reports whether err says that a resource version is too old to
// continue from.
func isGone(err error) bool { return hasCode(err, http.StatusGone) }

func hasCode(err error, code int) bool {
	var e *StatusError
	return errors.As(err, &e) && e.Code == code
}

// IsTemporary reports whether asking again may help: the server could not be
// reached, is starting, or has too much to do. What the server refused it
// will refuse again.
func IsTemporary(err error) bool {
	if err == nil {
		return false
	}
	var e *StatusError
	if !errors.As(err, &e) {
		var fixed *configError
		return !errors.As(err, &fixed)
	}
	switch e.Code {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusUnauthorized:
		// 401 too: a server that has just started may not know its tokens
		// yet, and a credential plugin is asked again.
		return true
	case http.StatusForbidden:
		// While its caches fill, a starting server finds no roles.
		return strings.Contains(e.Message, "RBAC: ") && strings.Contains(e.Message, "not found") || strings.Contains(e.Message, "not yet ready")
	}
	return e.Code >= 500
}

// statusError turns an unsuccessful answer into an error.
func statusError(resp *http.Response) error {
	e := &StatusError{Method: resp.Request.Method, Path: resp.Request.URL.Path, Code: resp.StatusCode}
	if s, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && s >= 0 {
		e.RetryAfter = time.Duration(s) * time.Second
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what arrived says enough
	e.fill(body)
	return e
}

// fill takes the reason and message of a metav1.Status, or the text as it is.
func (e *StatusError) fill(body []byte) {
	var s struct {
		Code            int
		Reason, Message string
	}
	if json.Unmarshal(body, &s) == nil && s.Message != "" {
		e.Reason, e.Message = s.Reason, s.Message
		if s.Code != 0 {
			e.Code = s.Code
		}
		return
	}
	e.Message = strings.Join(strings.Fields(string(body)), " ")
	if len(e.Message) > 300 {
		e.Message = strings.ToValidUTF8(e.Message[:300], "") + "…"
	}
	if e.Message == "" {
		e.Message = "no message"
	}
}
