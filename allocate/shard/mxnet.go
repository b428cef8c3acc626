package shard

// bigArray is MXNET_KVSTORE_BIGARRAY_BOUND.
const bigArray = 1_000_000

// MXNet is the default of MXNet's distributed key-value store: an array of bigArray
// elements or more is cut into equal parts for all servers, a smaller one goes whole
// to the server (key · 9973) mod servers, with its position in the model as key.
func MXNet(tensors []Tensor, servers int) []Server {
	out := make([]Server, servers)
	p := int64(servers)
	for key, t := range tensors {
		if t.Elements < bigArray {
			out[int64(key)*9973%p].give(t, 0, t.Elements)
			continue
		}
		for i := range p {
			from, to := part(t.Elements, i, p), part(t.Elements, i+1, p)
			if to > from {
				out[i].give(t, from, to-from)
			}
		}
	}
	return out
}

// part is where part i of n of a size begins; the product i·size could overflow.
func part(size, i, n int64) int64 { return size/n*i + size%n*i/n }
