@ kubectl create -f config.yaml -f pod.yaml -f deployment.yaml -f kinds.yaml
@ kubectl create configmap z --from-literal=z=1
kubectl get all
kubectl get all -l app=web
kubectl get pods,deploy,cm
kubectl get pods,deploy,cm -o wide
kubectl get pods --show-labels -L app
kubectl get pods --show-kind --no-headers
kubectl get deploy web -o yaml
kubectl get deploy web -o json
kubectl get deploy -o name
kubectl get cm -o jsonpath='{.items[*].metadata.name}'
kubectl get cm -o jsonpath='{range .items[*]}{.metadata.name}={.data.a}{"\n"}{end}'
kubectl get cm -o custom-columns=N:.metadata.name,D:.data.a
kubectl get cm -o go-template='{{range .items}}{{.metadata.name}} {{end}}'
kubectl get cm --sort-by=.metadata.name
kubectl get cm --chunk-size=1
kubectl get po --field-selector status.phase=Pending
kubectl get po --field-selector metadata.name=zz
kubectl get po --field-selector spec.nope=zz
kubectl get po -l 'app in (web,other),!nope'
kubectl get po -l 'app=='
kubectl get po -l 'app in'
kubectl get cm nope
kubectl get cm nope a
kubectl get cm nope --ignore-not-found
kubectl get nope
kubectl get pod/p deployment/web
kubectl get pod p cm a
kubectl get deployments.v1.apps web
kubectl get deployments.v9.apps web
kubectl get events.events.k8s.io
kubectl get events
kubectl events
kubectl get pods --watch --request-timeout=1s
kubectl get pods --watch-only --request-timeout=1s
kubectl get pods --watch --output-watch-events --request-timeout=1s
kubectl get cm a --watch -o name --request-timeout=1s
kubectl get deploy web --subresource=status -o jsonpath='{.metadata.generation}'
kubectl get deploy web --subresource=scale -o yaml
kubectl get deploy web --subresource=nope
kubectl get sts,ds,cronjob,ingress,netpol,pvc,lease,limitrange,svc
kubectl get sts,ds,cronjob,ingress,netpol,pvc,lease,limitrange,svc -o wide
kubectl get ns get
kubectl get pods -n nowhere
kubectl get pods --as=jane --as-group=devs
kubectl describe cm a
kubectl describe deploy web
kubectl describe pod p
kubectl describe pods -l app=web
kubectl describe sts db
kubectl describe ds agent
kubectl describe cronjob nightly
kubectl describe ingress web
kubectl describe netpol closed
kubectl describe pvc data
kubectl describe svc web
kubectl describe lease leader
kubectl describe limitrange limits
kubectl describe cm nope
kubectl describe ns get
kubectl wait --for=jsonpath='{.data.a}'=1 cm/a --timeout=2s
kubectl wait --for=condition=Ready pod/p --timeout=1s
kubectl wait --for=condition=Ready pod/nope --timeout=1s
kubectl wait --for=delete cm/nope --timeout=1s
kubectl wait --for=create cm/a --timeout=1s
kubectl wait --for=create cm/nope --timeout=1s
