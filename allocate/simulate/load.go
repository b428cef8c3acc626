package simulate

import "knee/data"

// LoadWorkload reads the workload at path, as [ReadWorkload] does; see
// [data.Open] for "-" and compressed files.
func LoadWorkload(path string) (jobs []Job, warnings []string, err error) {
	return data.LoadTable(path, ReadWorkload)
}

// LoadServiceTimes reads the column duration of a CSV file: a sample of the
// GPU-seconds that jobs need. Fractions are dropped.
func LoadServiceTimes(path string) (out []int64, err error) {
	err = EachRow(path, []string{"duration"}, func(row *data.Row) error {
		out = append(out, int64(row.Required("duration", data.Bounds{What: "GPU-seconds", Min: 1, Max: 1e15, Want: "GPU-seconds ≥ 1"})))
		return nil
	})
	return out, err
}

// EachRow is [data.EachRow] on the file at path.
func EachRow(path string, columns []string, do func(*data.Row) error) error {
	f, err := data.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return data.EachRow(f, path, columns, do)
}
