// The controller that one writes on @kubernetes/client-node's informer and the queue of
// ../naive-ts: node controller.mjs URL EVENTS [WARMUP]
import * as k8s from '@kubernetes/client-node';
import { LastVersions } from '../last-versions.mjs';
import { NaiveDelayingQueue, NaiveLimiter } from '../naive-ts/naive.mjs';

const [server, events, warmUp] = [process.argv[2], Number(process.argv[3]),
  Number(process.argv[4] ?? 0)];
const config = new k8s.KubeConfig();
config.loadFromOptions({
  clusters: [{ name: 'c', server, skipTLSVerify: true }], // plain HTTP is refused without it
  users: [{ name: 'u' }],
  contexts: [{ name: 'x', cluster: 'c', user: 'u' }],
  currentContext: 'x',
});
const core = config.makeApiClient(k8s.CoreV1Api);
const informer = k8s.makeInformer(config, '/api/v1/pods', () => core.listPodForAllNamespaces());
const versions = new LastVersions(events, warmUp);

function reconcile({ namespace, name }) {
  const pod = informer.get(name, namespace);
  if (pod === undefined) throw new Error('a Pod is not in the cache');
  const measured = versions.reconciled(pod.metadata.name, pod.metadata.resourceVersion,
    pod.spec.nodeName);
  if (measured === undefined) return;
  console.log(JSON.stringify({ peer: 'client-node',
    work: warmUp > 0 ? 'controller-warm' : 'controller', n: events, ...measured }));
  process.exit(0);
}

const keyOf = (request) => `${request.namespace}/${request.name}`;
const queue = new NaiveDelayingQueue(keyOf);
const limiter = new NaiveLimiter(5, 1_000_000);
let wake = () => {};

function enqueue({ metadata }) {
  queue.add({ namespace: metadata.namespace ?? '', name: metadata.name });
  wake();
}

async function work() {
  for (;;) {
    const request = queue.tryGet();
    if (request === undefined) {
      await new Promise((resolve) => { wake = resolve; });
      continue;
    }
    try {
      await reconcile(request);
      limiter.forget(keyOf(request));
    } catch (error) {
      console.error(error);
      setTimeout(() => { queue.add(request); wake(); }, limiter.when(keyOf(request)));
    } finally {
      queue.done(request);
    }
  }
}

for (const event of ['add', 'update', 'delete']) informer.on(event, enqueue);
informer.on('error', (error) => { console.error(error); process.exit(1); });
await informer.start();
await work();
