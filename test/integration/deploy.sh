# What knee is deployed with: the image of the Dockerfile, built and run without
# a network, and the systemd unit. test/integration/operate-kubernetes.sh gives
# the manifest to an API server.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, to build an image"
need buildah buildah
cd "$WORK"
cp "$CLONE/Dockerfile" "$KNEE" .
store=(--root "$WORK/images" --runroot "$WORK/run")
image= mounted=
trap '[ -z "$image" ] || buildah "${store[@]}" rm "$image" >/dev/null || true; rm -rf "$WORK/images" "$WORK/run"' EXIT
check "the image is built without a network" unshare -n buildah "${store[@]}" build --isolation chroot -t knee .
image=$(buildah "${store[@]}" from localhost/knee)
mounted=$(buildah "${store[@]}" mount "$image")
check "it holds one static program" bash -c "[ \"\$(find '$mounted' -type f | sed 's#^$mounted##')\" = /knee ]"
check "which runs there without anything else, and without rights" unshare -n chroot --userspec=65532:65532 "$mounted" /knee version
check "what starts is knee, as nobody" bash -c "buildah ${store[*]} inspect --type image localhost/knee | tr -d ' \n' | grep '\"Entrypoint\":\\[\"/knee\"\\]' | grep '\"User\":\"65532:65532\"'"
echo "      the image is $(du -m "$mounted/knee" | cut -f1) MB"

if command -v systemd-analyze >/dev/null; then
	sed "s#/usr/local/bin/knee#$KNEE#" "$CLONE/examples/operate/knee.service" >knee.service
	check "systemd takes the unit" bash -c "systemd-analyze verify ./knee.service 2>&1 | tee unit.log; ! grep knee.service unit.log"
else
	echo "      systemd-analyze is not there: the unit is not judged"
fi
check "the configuration of the examples is read" bash -c "cp '$CLONE/examples/operate/operate.yaml' . && ! PATH=/nowhere '$KNEE' operate operate.yaml --once 2>err && grep squeue err"
sed -n '/^  operate.yaml: |$/,/^---$/p' "$CLONE/examples/operate/kubernetes.yaml" | sed '1d; /^---$/d; s/^    //; s#/var/lib/knee#'"$WORK"'#' >kube.yaml
check "and that of the manifest" bash -c "! KUBECONFIG=/nowhere HOME=/nowhere '$KNEE' operate kube.yaml --once 2>err && grep 'service account' err"
