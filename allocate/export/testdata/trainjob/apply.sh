#!/bin/sh
# knee: carries out the plan.
set -eu
cd "$(dirname "$0")"

kubectl delete trainjobs.trainer.kubeflow.org,trainingruntimes.trainer.kubeflow.org resnet50-imagenet --namespace=ml --ignore-not-found --wait # grow
# single is kept as it runs
kubectl delete trainjobs.trainer.kubeflow.org,trainingruntimes.trainer.kubeflow.org paused-name --ignore-not-found --wait # pause: waits for room
kubectl apply -f resnet50-imagenet.yaml
kubectl apply -f bert.yaml
