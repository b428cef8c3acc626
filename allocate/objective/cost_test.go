package objective

import (
	"testing"
	"time"

	"knee/data"
	"knee/predict"
)

// TestDeadlineIsInTimeFirst: one job in time is worth more than any delay of
// others that is avoided, and more than what the allocation costs.
func TestDeadlineIsInTimeFirst(t *testing.T) {
	o, err := New("deadline")
	if err != nil {
		t.Fatal(err)
	}
	s := Subject{Job: data.Job{Deadline: time.Hour}}
	at := func(hours, price float64) float64 {
		one := data.Estimate{Mean: 1, Lo: 1, Hi: 1}
		return o.Value(s, Outcome{Answer: predict.Answer{Goodput: one, TimeToTarget: one.Scale(hours * 3600), PricePerHour: price}})
	}
	if inTime := at(0.5, 1000) + at(20, 1); inTime <= at(1.1, 1)+at(2, 1) {
		t.Errorf("one of two in time is worth %g, neither %g", inTime, at(1.1, 1)+at(2, 1))
	}
	if at(2, 1) <= at(9, 1) {
		t.Error("less late is not better")
	}
	if at(20, 1) <= o.Idle(s) {
		t.Error("late is not better than never")
	}
	if at(0.5, 2) >= at(0.9, 1) {
		t.Error("of two in time the cheaper is not better")
	}
}
