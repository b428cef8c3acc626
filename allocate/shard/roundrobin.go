package shard

// RoundRobin is what TensorFlow's replica_device_setter does by default:
// tensors go whole to one server after another, in the order of the model.
func RoundRobin(tensors []Tensor, servers int) []Server {
	out := make([]Server, servers)
	for i, t := range tensors {
		out[i%servers].give(t, 0, t.Elements)
	}
	return out
}
