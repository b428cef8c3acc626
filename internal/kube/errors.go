package kube

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsNotFound reports whether err says that the object is not there.
func IsNotFound(err error) bool { return hasCode(err, http.StatusNotFound) }

// IsConflict reports whether err says that an object of the name is there
// already, or was changed by someone else.
func IsConflict(err error) bool { return hasCode(err, http.StatusConflict) }

// IsBadRequest reports whether err says that the request makes no sense, as
// the server calls asking for output before there is any.
func IsBadRequest(err error) bool { return hasCode(err, http.StatusBadRequest) }

// isGone reports whether err says that a resource version is too old to
// continue from.
func isGone(err error) bool { return hasCode(err, http.StatusGone) }

func hasCode(err error, code int) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && int(status.Status().Code) == code
}

// IsRefused reports whether the server has answered, and would give the same
// answer again.
func IsRefused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !IsTemporary(err)
}

// IsTemporary reports whether asking again may help: the server could not be
// reached, is starting, or has too much to do. What the server refused it
// will refuse again.
func IsTemporary(err error) bool {
	var status apierrors.APIStatus
	if err == nil || !errors.As(err, &status) {
		return err != nil && !strings.Contains(err.Error(), "exec: executable ") // a plugin that is not installed
	}
	switch s := status.Status(); s.Code {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusUnauthorized:
		// 401 too: a server that has just started may not know its tokens
		// yet, and a credential plugin is asked again.
		return true
	case http.StatusForbidden:
		// While its caches fill, a starting server finds no roles.
		return strings.Contains(s.Message, "RBAC: ") && strings.Contains(s.Message, "not found") || strings.Contains(s.Message, "not yet ready")
	default:
		return s.Code >= 500
	}
}

// explain says of an error that is no answer of the server which server could
// not be reached.
func (c *Client) explain(err error) error {
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	return fmt.Errorf("reach the API server %s: %w", c.Server, err)
}

// withBody gives an error the server's own words where client-go has only its
// status code.
func withBody(err error, body []byte) error {
	var s metav1.Status
	if err == nil || json.Unmarshal(body, &s) != nil || s.Message == "" || s.Code == 0 {
		return err
	}
	return &apierrors.StatusError{ErrStatus: s}
}
