kubectl version
kubectl cluster-info
kubectl api-resources
kubectl api-resources --api-group=apps -o wide
kubectl api-resources --namespaced=false -o name
kubectl api-resources --verbs=list,watch --categories=all -o name
kubectl api-versions
kubectl get --raw /readyz
kubectl get --raw '/livez?verbose' | tail -1
kubectl get --raw /openapi/v3/apis/nope/v1
kubectl get --raw /apis/apps
kubectl get --raw /nope
kubectl explain pods
kubectl explain pods.spec.containers.resources
kubectl explain pod.spec --recursive
kubectl explain deployment --api-version=apps/v1
kubectl explain cronjob.spec.jobTemplate.spec.template.spec.volumes
kubectl explain hpa.spec.metrics
kubectl explain ingress.spec.rules.http.paths.backend
kubectl explain crd.spec.versions.schema --recursive
kubectl explain nope
kubectl explain deployment.spec.nope
kubectl explain deploy --output=plaintext-openapiv2
