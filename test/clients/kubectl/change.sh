@ kubectl create -f config.yaml -f deployment.yaml -f pod.yaml
@ kubectl create configmap settings --from-literal=color=blue
kubectl patch cm a --type=merge -p '{"data":{"m":"1"}}'
kubectl patch cm a --type=merge -p '{"data":{"m":"1"}}'
kubectl patch cm a --type=json -p '[{"op":"add","path":"/data/j","value":"1"}]'
kubectl patch cm a --type=json -p '[{"op":"remove","path":"/data/nope"}]'
kubectl patch cm a --type=json -p '[{"op":"test","path":"/data/j","value":"2"}]'
kubectl patch cm a -p '{"data":'
kubectl patch cm a -p '{"data":{"n":1}}'
kubectl patch deploy web -p '{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:2"}]}}}}'
kubectl patch deploy web -p '{"spec":{"template":{"spec":{"containers":[{"name":"d","image":"side"}]}}}}' -o jsonpath='{.spec.template.spec.containers[*].name}'
kubectl patch deploy web -p '{"spec":{"template":{"spec":{"containers":[{"name":"d","$patch":"delete"}]}}}}' -o jsonpath='{.spec.template.spec.containers[*].name}'
kubectl patch deploy web -p '{"spec":{"nope":1}}'
kubectl patch deploy web -p '{"spec":{"replicas":-1}}'
kubectl patch deploy web -p '{"spec":{"selector":{"matchLabels":{"x":"y"}}}}'
kubectl patch deploy web --subresource=scale --type=merge -p '{"spec":{"replicas":5}}'
kubectl patch deploy web --subresource=status --type=merge -p '{"status":{"replicas":5,"readyReplicas":3}}'
kubectl get deploy web
kubectl patch pod p -p '{"spec":{"nodeSelector":{"a":"b"}}}'
kubectl patch pod p -p '{"spec":{"terminationGracePeriodSeconds":9}}'
kubectl patch pod p --type=merge -p '{"spec":{"containers":[{"name":"c","image":"nginx:2"}]}}'
kubectl patch cm a --type=merge -p '{"data":{"m":"2"}}' --dry-run=server -o yaml
kubectl patch cm nope --type=merge -p '{}'
kubectl patch -f config.yaml --local --type=merge -p '{"data":{"x":"y"}}' -o yaml
kubectl scale deploy web --replicas=3
kubectl scale deploy web --replicas=1 --current-replicas=7
kubectl scale deploy web nope --replicas=1
kubectl scale cm a --replicas=1
kubectl label cm a x=y
kubectl label cm a x=z
kubectl label cm a x=z --overwrite
kubectl label cm a x-
kubectl label cm a x-
kubectl label cm a 'bad key=1'
kubectl label cm a ok='bad value'
kubectl label cm --all --list
kubectl annotate cm a n=1
kubectl annotate cm a n=2
kubectl annotate --all cm n=2 --overwrite
kubectl annotate cm a n-
KUBE_EDITOR='sed -i s/nginx:2/nginx:3/' kubectl edit deploy web
KUBE_EDITOR='sed -i s/nginx:3/nginx:3/' kubectl edit deploy web
KUBE_EDITOR='sed -i s/name:.web$/name:\ other/' kubectl edit deploy web
KUBE_EDITOR='sed -i s/a:.*/a:\ changed/' kubectl edit cm a --output-patch
kubectl set image deploy/web c=nginx:4
kubectl set image deploy/web nope=nginx:4
kubectl set image deploy/web '*=nginx:5' --dry-run=server -o jsonpath='{.spec.template.spec.containers[0].image}'
kubectl set env deploy/web A=b C=d
kubectl set env deploy/web A- --list
kubectl set env deploy/web --from=configmap/settings
kubectl set resources deploy/web --limits=cpu=1,memory=1Gi --requests=cpu=500m
kubectl set resources deploy/web --limits=cpu=1 --requests=cpu=2
kubectl set selector svc/nope a=b
kubectl set serviceaccount deploy/web builder
kubectl set subject rolebinding nope --user=a
kubectl get deploy web -o yaml
kubectl rollout status deploy/web --timeout=1s
kubectl rollout history deploy/web
kubectl rollout history deploy/web --revision=7
kubectl rollout undo deploy/web
kubectl rollout restart deploy/web
kubectl rollout restart pod/p
kubectl rollout pause deploy/web
kubectl rollout pause deploy/web
kubectl rollout restart deploy/web
kubectl rollout resume deploy/web
kubectl rollout status sts/nope
kubectl replace -f config.yaml
kubectl get cm a -o yaml
kubectl get cm a -o json | sed 's/"resourceVersion": "[0-9]*"/"resourceVersion": "1"/' | kubectl replace -f -
