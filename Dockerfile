# knee alone: a static binary, and nothing else.
#
#   CGO_ENABLED=0 go build -trimpath -o knee ./cmd/knee && buildah build -t knee .
#
# examples/operate/kubernetes.yaml runs it on Kubernetes. On Slurm use the binary
# beside Slurm's own commands instead: examples/operate/knee.service.
FROM scratch
COPY knee /knee
USER 65532:65532
WORKDIR /var/lib/knee
ENTRYPOINT ["/knee"]
