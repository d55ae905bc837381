kubectl apply -f lamps.yaml
kubectl wait --for=condition=Established crd/lamps.example.com --timeout=10s
@ until kubectl explain lamp && kubectl get lamps; do sleep 0.2; done
kubectl get crd lamps.example.com
kubectl describe crd lamps.example.com | grep -v -e Generation -e Version
kubectl api-resources --api-group=example.com
kubectl explain lamp
kubectl explain lamp.spec.watts
kubectl explain lamp --recursive
kubectl explain lamp.spec.nope
kubectl apply -f lamp.yaml
kubectl apply -f lamp.yaml
kubectl apply --server-side -f lamp.yaml
sed 's/watts: 5/wattz: 5/' lamp.yaml | kubectl apply -f -
sed 's/watts: 5/watts: a/' lamp.yaml | kubectl apply -f -
sed 's/watts: 5/watts: 0/' lamp.yaml | kubectl apply -f -
sed 's/room: hall/room: attic/' lamp.yaml | kubectl apply -f -
sed 's/watts: 5/watts: 5, foo: 1/' lamp.yaml | kubectl apply --validate=false -f -
sed 's/watts: 5/watts: 5, foo: 1/' lamp.yaml | kubectl apply --validate=warn -f -
sed 's/name: l,/name: m,/' lamp.yaml | kubectl create -f -
kubectl get lamps
kubectl get lp l -o wide
kubectl get lamp l -o yaml
kubectl get lamp l -o json
kubectl get all
kubectl describe lamp l
kubectl scale lamp l --replicas=4
kubectl scale lamp l --replicas=4 --current-replicas=1
kubectl autoscale lamp l --max=3 --cpu=70%
kubectl patch lamp l -p '{"spec":{"watts":6}}'
kubectl patch lamp l --type=merge -p '{"spec":{"watts":6}}'
kubectl patch lamp l --type=merge -p '{"spec":{"watts":"six"}}'
kubectl patch lamp l --type=json -p '[{"op":"replace","path":"/spec/watts","value":0}]'
kubectl patch lamp l --subresource=status --type=merge -p '{"status":{"lit":true,"replicas":2}}'
kubectl get lamp l -o jsonpath='{.status}'
kubectl wait --for=jsonpath='{.status.lit}'=true lamp/l --timeout=2s
KUBE_EDITOR='sed -i s/watts:.6/watts:\ 7/' kubectl edit lamp l
KUBE_EDITOR='sed -i s/watts:.7/watts:\ 0/' kubectl edit lamp l
kubectl label lamp --all room=hall
kubectl annotate lamp l note=x
kubectl get lamps --watch --request-timeout=1s
kubectl get lamp l --subresource=scale
kubectl diff -f lamp.yaml | sed 1,2d
kubectl replace -f lamp.yaml
kubectl delete lamp m
kubectl delete lamp m
kubectl patch lamp l --type=merge -p '{"metadata":{"finalizers":["example.com/wait"]}}'
kubectl delete lamp l --wait=false
kubectl delete lamp l --timeout=1s
kubectl get lamp l -o jsonpath='{.metadata.deletionGracePeriodSeconds} {.metadata.finalizers}'
kubectl patch lamp l --type=merge -p '{"metadata":{"finalizers":null}}'
kubectl get lamp l
kubectl delete -f lamps.yaml
kubectl get lamps
sed 's/scope: Namespaced/scope: Nowhere/' lamps.yaml | kubectl apply -f -
sed 's/name: lamps.example.com/name: other.example.com/' lamps.yaml | kubectl apply -f -
