package launch

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A trial waits for an API server that has answered before, for as long as a running one does.
func TestKubernetesAwaitsItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, begun, away := &Kubernetes{}, time.Now(), errors.New("connection refused")
		ask := func() error {
			if time.Since(begun) < 4*time.Minute {
				return away
			}
			return nil
		}
		if err := k.await(t.Context(), ask); err != away || time.Since(begun) > 0 {
			t.Errorf("the first time: %v after %s, want the error at once", err, time.Since(begun))
		}
		k.answered.Store(true)
		if err := k.await(t.Context(), ask); err != nil {
			t.Errorf("later: %v after %s, want an answer after 4 minutes", err, time.Since(begun))
		}
	})
}
