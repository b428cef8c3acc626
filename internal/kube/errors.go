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

// IsNotFound reports whether err means that the object does not exist.
func IsNotFound(err error) bool { return hasCode(err, http.StatusNotFound) }

// IsConflict reports whether err means that an object of the name exists already,
// or was changed by someone else.
func IsConflict(err error) bool { return hasCode(err, http.StatusConflict) }

// IsBadRequest reports whether err is "bad request" (400), which a request for a
// log before the container has started also gets.
func IsBadRequest(err error) bool { return hasCode(err, http.StatusBadRequest) }

func hasCode(err error, code int) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && int(status.Status().Code) == code
}

// IsRefused reports whether the server would refuse the request again.
func IsRefused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && !IsTemporary(err)
}

// IsTemporary reports whether to repeat a request: the server could not be
// reached, is starting, or is overloaded.
func IsTemporary(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err != nil && !strings.Contains(err.Error(), "exec: executable ") // a plugin that is not installed
	}
	switch s := status.Status(); s.Code {
	case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusUnauthorized:
		// 401: a server that has just started may not know its tokens yet, and a
		// credential plugin is called again.
		return true
	case http.StatusForbidden:
		// A starting server does not find roles until its caches are filled.
		return strings.Contains(s.Message, "RBAC: ") && strings.Contains(s.Message, "not found") || strings.Contains(s.Message, "not yet ready")
	default:
		return s.Code >= 500
	}
}

// explain adds the server, unless err is its answer.
func (c *Client) explain(err error) error {
	var status apierrors.APIStatus
	if err == nil || errors.As(err, &status) {
		return err
	}
	return fmt.Errorf("reach the API server %s: %w", c.Server, err)
}

// withBody returns the error in the body of an answer, which says more.
func withBody(err error, body []byte) error {
	var s metav1.Status
	if err == nil || json.Unmarshal(body, &s) != nil || s.Message == "" || s.Code == 0 {
		return err
	}
	return &apierrors.StatusError{ErrStatus: s}
}
