#!/bin/sh
# knee: carries out the plan.
set -eu
cd "$(dirname "$0")"

kubectl delete jobsets.jobset.x-k8s.io resnet50-imagenet --namespace=ml --ignore-not-found --wait # grow
# single is kept as it runs
kubectl delete jobsets.jobset.x-k8s.io paused-name --ignore-not-found --wait # pause: waits for room
kubectl delete jobsets.jobset.x-k8s.io word2vec --ignore-not-found --wait # move
kubectl apply -f resnet50-imagenet.yaml
kubectl apply -f bert.yaml
kubectl apply -f word2vec.yaml
